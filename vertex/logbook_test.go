package vertex

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
)

// logBook keeps what a vertex logs.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func newLogBook() *logBook { return &logBook{} }

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func (b *logBook) count(message string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), `msg="`+message+`"`)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// ends are the reasons for which connections ended, as the log has them.
func (b *logBook) ends() []string {
	var ends []string
	for line := range strings.Lines(b.String()) {
		if !strings.Contains(line, `msg="connection ended"`) {
			continue
		}
		if _, rest, ok := strings.Cut(line, " reason="); ok {
			reason, _, _ := strings.Cut(rest, " ")
			ends = append(ends, reason)
		}
	}
	return ends
}

// hold takes a port.
func hold(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
