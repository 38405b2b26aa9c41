package durable

import "fmt"

// UnknownError says that a change was renamed into place and that the sync
// which makes it durable failed (SET-2): the disk may hold the old content or
// the new one. The process must end as a crash and read the truth again at its
// next start. Match it with errors.As.
type UnknownError struct {
	Name string // the file or directory that was being changed
	Err  error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s was renamed into place but its directory could not be synced, "+
		"so that old or new may survive a power loss; restart to read what is there: %v", e.Name, e.Err)
}

func (e *UnknownError) Unwrap() error { return e.Err }

// SizeError says that a file is larger than its reader accepts.
type SizeError struct {
	Name  string
	Limit int64 // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is larger than its limit of %d bytes", e.Name, e.Limit)
}

// KindError says that a name stands for something else than it must: a link on
// the way, a directory where a file is due, a device.
type KindError struct {
	Name string
	Want string // "regular file", "directory"
	Got  string // the mode as ls prints it
}

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is not a %s (mode %s)", e.Name, e.Want, e.Got)
}
