// Package install places the files of flor below a prefix and takes them away
// again (INS-1). The commands "flor install" and "flor uninstall" are its only
// callers; which files there are, and which service manager runs agents, they
// say.
//
// # What it promises
//
// [ReceiptFile] below the prefix lists every file that was placed, with its
// digest, and every directory that was made for it. What the receipt does not
// list, or what has been changed since, is never overwritten and never removed.
//
// An install first writes down what it is about to do, then stages every file
// below the prefix, then stops the scopes that run from it, renames file by
// file, reads all of it back, and starts the same scopes again. So at every
// instant, power loss included, each file is the old one or the new one, whole,
// and the receipt lists it; running the same install again finishes what was cut
// short, the starting of scopes included, and [Remove] takes it back. Before the
// first receipt is durable there is nothing but directories and its temporary
// file.
//
// [Remove] keeps flor itself and the receipt for the end, so that what was cut
// short can be taken up by running it again; after flor is gone, by another one
// with --prefix.
//
// # Limits
//
// All names are resolved below the prefix through store/durable's seam; a
// symbolic link among them is refused. A program may have [MaxFile] bytes. One
// process at a time changes a prefix; nothing here takes a lock, because each
// change is a rename and the receipt is written before it.
package install
