package node

import (
	"net"
	"path/filepath"
	"strings"
	"sync"

	"github.com/florete/flor/conformance/internal/trial"
)

// LogDaemon is the syslog daemon of the machine (OBS-1).
type LogDaemon struct {
	Path string

	mu      sync.Mutex
	records []string
}

func newLogDaemon(t *trial.T, dir string) *LogDaemon {
	d := &LogDaemon{Path: filepath.Join(dir, "log")}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: d.Path, Net: "unixgram"})
	t.Check(err, "listen as a log daemon")
	var reading sync.WaitGroup
	reading.Go(func() { d.read(conn) })
	t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	t.Note(d.lastWords)
	return d
}

func (d *LogDaemon) read(conn *net.UnixConn) {
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
}

// Records are what was logged so far, a datagram each.
func (d *LogDaemon) Records() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.records...)
}

func (d *LogDaemon) lastWords() string {
	if all := strings.Join(d.Records(), "\n"); all != "" {
		return "the log has " + trial.Quote(all)
	}
	return ""
}
