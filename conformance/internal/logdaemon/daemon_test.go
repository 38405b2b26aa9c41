package logdaemon_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/florete/flor/conformance/internal/logdaemon"
	"github.com/florete/flor/conformance/internal/trial"
)

// in runs a check as a case does.
func in(t *testing.T, check func(*trial.T, string)) {
	t.Helper()
	err := trial.Run(context.WithoutCancel(t.Context()), &trial.Arrivals{}, func(c *trial.T) {
		check(c, filepath.Join(c.Dir(), "log"))
	})
	if err != nil {
		t.Error(err)
	}
}

// send logs records as a program does that has just started.
func send(c *trial.T, path string, records ...string) {
	conn, err := net.Dial("unixgram", path)
	c.Check(err, "connect to the log daemon")
	defer conn.Close()
	for _, record := range records {
		_, err := conn.Write([]byte(record))
		c.Check(err, "log")
	}
}

// TestRecordsAreAllThatWasSentBefore: nothing that was logged is still on its way.
func TestRecordsAreAllThatWasSentBefore(t *testing.T) {
	t.Parallel()
	in(t, func(c *trial.T, path string) {
		d := logdaemon.Listen(c, path)
		for n := 1; n <= 200; n++ {
			send(c, path, fmt.Sprint("record ", n))
			if got := d.Records(); len(got) != n || got[n-1] != fmt.Sprint("record ", n) {
				c.Fatalf("after %d records there are %d", n, len(got))
			}
		}
	})
}

func TestADaemonThatIsRestartedHasForgotten(t *testing.T) {
	t.Parallel()
	in(t, func(c *trial.T, path string) {
		d := logdaemon.Listen(c, path)
		send(c, path, "before")
		d.Restart()
		send(c, path, "after")
		if got := d.Records(); len(got) != 1 || got[0] != "after" {
			c.Fatalf("%q", got)
		}
	})
}

func TestADaemonThatHasGoneKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	in(t, func(c *trial.T, path string) {
		d := logdaemon.Listen(c, path)
		send(c, path, "last")
		before := d.Records()
		d.Close()
		if got := d.Records(); len(before) != 1 || len(got) != 1 {
			c.Fatalf("%q, then %q", before, got)
		}
		if _, err := net.Dial("unixgram", path); err == nil {
			c.Fatalf("somebody answers for a daemon that has gone")
		}
	})
}

// TestASilentDaemonIsFull: whoever logs to it waits, or loses the record.
func TestASilentDaemonIsFull(t *testing.T) {
	t.Parallel()
	in(t, func(c *trial.T, path string) {
		d := logdaemon.Silent(c, path)
		d.Fill()
		if got := d.Records(); len(got) != 0 {
			c.Fatalf("it has taken %q", got)
		}
	})
}
