package host

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Daemon is a log daemon, which takes datagrams on a unix socket (OBS-1).
type Daemon struct {
	h    *Host
	path string
	conn *net.UnixConn
	read sync.WaitGroup

	mu      sync.Mutex
	records []string
}

// Syslog gives the program a connected unix datagram socket as fds 1 and 2, and
// starts a log daemon that keeps what comes.
func (h *Host) Syslog() *Daemon {
	d := h.SilentSyslog()
	d.keep()
	return d
}

// SilentSyslog is Syslog with a daemon that takes nothing from its socket.
func (h *Host) SilentSyslog() *Daemon {
	d := &Daemon{h: h, path: filepath.Join(h.Mkdir("dev"), "log")}
	d.listen(d.path)
	sink, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: d.path, Net: "unixgram"})
	h.Check(err, "connect to the log daemon")
	defer sink.Close()
	file, err := sink.File()
	h.Check(err, "take the descriptor of the log daemon")
	h.Cleanup(func() { _ = file.Close() })
	// As an agent makes it: a send that may wait does so.
	h.Check(syscall.SetNonblock(int(file.Fd()), false), "make the descriptor of the log daemon wait")
	h.Log, h.Vars["FLORWL_LOG_SINK"] = file, "syslog"
	return d
}

// listen opens a socket for the daemon.
func (d *Daemon) listen(path string) {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	d.h.Check(err, "listen as a log daemon")
	d.conn = conn
	d.h.Cleanup(d.Close)
}

// Restart opens a new socket at the daemon's path and closes the old one; there is
// one at any time, so that whatever is logged meanwhile has where to go.
func (d *Daemon) Restart() {
	old, next := d.conn, d.path+".new"
	d.listen(next)
	d.h.Check(os.Rename(next, d.path), "listen as a log daemon")
	_ = old.Close()
	d.read.Wait()
	d.mu.Lock()
	d.records = nil
	d.mu.Unlock()
	d.keep()
}

// Close ends the daemon and removes its socket.
func (d *Daemon) Close() {
	_ = d.conn.Close()
	d.read.Wait()
	_ = os.Remove(d.path)
}

func (d *Daemon) keep() {
	conn := d.conn
	d.read.Go(func() {
		record := make([]byte, 64<<10)
		for {
			n, err := conn.Read(record)
			if err != nil {
				return
			}
			d.mu.Lock()
			d.records = append(d.records, string(record[:n]))
			d.mu.Unlock()
		}
	})
}

// Records are what has come so far, a datagram each.
func (d *Daemon) Records() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.records...)
}

// Fill sends datagrams to the daemon until its socket takes no more from anybody:
// a daemon that is stuck. What one sender may have on its way can be less than
// what the daemon's queue holds, so it takes several.
func (d *Daemon) Fill() {
	const most = 1 << 10 // senders, far over any system's limit
	for range most {
		if d.fillFromOne() == 0 {
			return
		}
	}
	d.h.Fatalf("the log daemon's socket cannot be filled on this machine")
}

// fillFromOne sends until the socket takes no more from this sender, and returns
// how many datagrams it took.
func (d *Daemon) fillFromOne() (sent int) {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: d.path, Net: "unixgram"})
	d.h.Check(err, "connect to the log daemon")
	defer conn.Close()
	raw, err := conn.SyscallConn()
	d.h.Check(err, "fill the log daemon's socket")
	err = raw.Control(func(fd uintptr) {
		for syscall.Sendto(int(fd), []byte("x"), syscall.MSG_DONTWAIT, nil) == nil {
			sent++
		}
	})
	d.h.Check(err, "fill the log daemon's socket")
	return sent
}

// Writes gives the program a pipe that keeps its writes apart as fds 1 and 2, and
// returns a function that reads them until the program has closed it; nil where
// there is no such pipe.
func (h *Host) Writes() func() []string {
	r, w := h.packetPipe()
	if r == nil {
		return nil
	}
	h.Log = w
	var (
		writes []string
		read   sync.WaitGroup
	)
	read.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Read(buf)
			if err != nil {
				return
			}
			writes = append(writes, string(buf[:n]))
		}
	})
	h.Cleanup(func() { _, _ = w.Close(), r.Close(); read.Wait() })
	return func() []string {
		_ = w.Close()
		_ = r.SetReadDeadline(time.Now().Add(Grace)) // a process that is left may hold it
		read.Wait()
		return writes
	}
}
