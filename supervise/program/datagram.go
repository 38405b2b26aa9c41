package program

import (
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// datagramWriter sends records to a log daemon through a connected unix
// datagram socket, which it does not own. It never blocks: what the daemon
// does not take is dropped and counted, and the count is sent as a record of
// its own before the next one that gets through. When the daemon has gone it
// connects the same descriptor again, to the name it had (OBS-1).
type datagramWriter struct {
	mu sync.Mutex
	// file keeps the descriptor open while fd is used.
	file    *os.File
	fd      int
	daemon  unix.Sockaddr
	dropped uint64
	report  func(dropped uint64) []byte
}

func newDatagramWriter(f *os.File, report func(uint64) []byte) *datagramWriter {
	fd := int(f.Fd())
	daemon, err := unix.Getpeername(fd)
	if err != nil {
		daemon = nil // nothing to connect to again
	}
	return &datagramWriter{file: f, fd: fd, daemon: daemon, report: report}
}

// writeLine sends a record, or counts it as dropped. It returns no error:
// there is nowhere to report one.
func (w *datagramWriter) writeLine(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped > 0 && w.send(w.report(w.dropped)) {
		w.dropped = 0
	}
	if !w.send(line) {
		w.dropped++
	}
	return nil
}

func (w *datagramWriter) send(line []byte) bool {
	err := w.try(line)
	if gone(err) && w.daemon != nil && unix.Connect(w.fd, w.daemon) == nil {
		err = w.try(line)
	}
	return err == nil
}

func (w *datagramWriter) try(line []byte) error {
	for {
		err := unix.Sendto(w.fd, line, unix.MSG_DONTWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// gone reports whether a send failed because the other end is closed.
func gone(err error) bool {
	for _, e := range []error{unix.ECONNREFUSED, unix.ENOTCONN, unix.ECONNRESET, unix.EPIPE, unix.EDESTADDRREQ} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// OpenSink connects to a log destination, "unix:<path>" (OBS-1), and returns
// the socket, which the caller closes. A path where nothing answers is marked
// [Unavailable], anything else that is wrong with a destination [Reject].
func OpenSink(destination string) (*os.File, error) {
	path, ok := strings.CutPrefix(destination, "unix:")
	if !ok || path == "" || len(path) > maxSocketPath {
		return nil, Reject(refuse("FL2504", "bad-log-destination",
			"%q: want unix:<path> with a path of at most %d bytes", destination, maxSocketPath))
	}
	fd, err := datagramSocket()
	if err != nil {
		return nil, Unavailable(refuse("FL2505", "log-unavailable", "make a socket for %s: %w", destination, err))
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return nil, explainConnect(destination, err)
	}
	return os.NewFile(uintptr(fd), destination), nil
}

// maxSocketPath is the longest path of a unix socket, in bytes.
const maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

func explainConnect(destination string, err error) error {
	if errors.Is(err, unix.EPROTOTYPE) {
		return Reject(refuse("FL2504", "bad-log-destination",
			"%s is no datagram socket: set the log destination to that of a syslog daemon", destination))
	}
	return Unavailable(refuse("FL2505", "log-unavailable",
		"nothing answers at %s (%w): start the syslog daemon, give --log-stderr to log to standard error, or name another destination in FLOR_LOG_DESTINATION or config.toml", destination, err))
}
