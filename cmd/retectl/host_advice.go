package main

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// adviseHost says what to do about what the machine did not let be done, where
// nothing else says so.
func (c *console) adviseHost(err error) {
	if next := hostStep(err); next != "" && !errors.As(err, new(*advised)) {
		c.say("next: %s", next)
	}
}

func hostStep(err error) string {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "make room on that disk, then run the same command again"
	case errors.Is(err, unix.EROFS):
		return "that file system is mounted to be read only: mount it for writing, or work in a clone elsewhere"
	case errors.Is(err, fs.ErrPermission):
		return "run retectl as the user to whom that file and its directories belong, or give them to this one (ls -l)"
	}
	return ""
}
