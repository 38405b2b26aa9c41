package host

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/florete/flor/conformance/internal/logdaemon"
)

// Syslog gives the program a connected unix datagram socket as fds 1 and 2, and
// starts a log daemon that keeps what comes.
func (h *Host) Syslog() *logdaemon.Daemon { return h.logTo(logdaemon.Listen(h.T, h.logPath())) }

// SilentSyslog is Syslog with a daemon that takes nothing from its socket.
func (h *Host) SilentSyslog() *logdaemon.Daemon { return h.logTo(logdaemon.Silent(h.T, h.logPath())) }

func (h *Host) logPath() string { return filepath.Join(h.Mkdir("dev"), "log") }

func (h *Host) logTo(d *logdaemon.Daemon) *logdaemon.Daemon {
	h.Log, h.Vars["FLORWL_LOG_SINK"] = d.Sink(), "syslog"
	return d
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
