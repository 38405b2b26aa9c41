//go:build unix && !linux

package vertex

import "golang.org/x/sys/unix"

// readNow and writeNow are as on Linux, but announced to the scheduler: other
// systems have no calls but those of their C library.
func readNow(fd uintptr, p []byte) (int, error) { return unix.Read(int(fd), p) }

func writeNow(fd uintptr, p []byte) (int, error) { return unix.Write(int(fd), p) }
