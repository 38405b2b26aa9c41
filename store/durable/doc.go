// Package durable changes files and directories so that a crash, power loss
// included, leaves the old content or the new one and never a mix.
//
// It knows nothing of any product. The packages store, store/identity,
// store/bundle and relay keep their state through it; nothing else is used to
// change state.
//
// # What it promises
//
// Two ways of changing state exist, both of rule SET-2:
//
//   - [ReplaceFile] writes <name>.tmp beside the file, syncs it, renames it over
//     the old one and syncs the directory.
//   - [PublishDir] writes and syncs every file and directory below
//     <dir>.partial, renames it to its final name and syncs the parent.
//     [StageDir] and [PublishStaged] are its two halves, for a caller that
//     checks what it staged before it publishes.
//
// [RemoveDir] takes a directory away by renaming it to <dir>.partial first, so
// that half a directory never stands under a final name. [ReplaceDir] exchanges
// a whole directory in two renames; [SettleDir] finishes or undoes the middle of
// them at the next start. [MoveDir] gives a directory another name.
//
// Every file and directory gets its exact mode, whatever the umask, and its
// owner before it is renamed to its final name (SET-1).
//
// An error that is not an [UnknownError] means: not written, the old content
// stands. An UnknownError means that the rename was done and its sync failed:
// nobody can say which of the two the disk holds. The process must report a
// crash and read the truth again at its next start.
//
// # The seam
//
// All operations go through [FS], which is small enough to record and to play
// back (SET-7). [Dir] is the implementation on a real directory: it resolves
// names below an [os.Root] and refuses symbolic links on the way.
//
// # Limits
//
// The functions take no lock: one process at a time changes a tree. What a file
// system does not keep after a successful fsync, this package cannot keep either.
package durable
