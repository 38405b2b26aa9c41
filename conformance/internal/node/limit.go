package node

import "syscall"

// MaxSocketPath is the longest path of a unix socket on this platform, in bytes
// (SET-1).
const MaxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1
