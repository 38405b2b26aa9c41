package agent

import (
	"log/slog"
	"os"
	"sync"

	"github.com/florete/flor/supervise/program"
)

// logSink is where the agent and its children log (OBS-1): its own standard
// error, shared with them, or a connection each to a destination.
type logSink struct {
	class       program.Sink
	destination string

	mu    sync.Mutex
	fault error
}

func newLogSink(stderr bool, destination string) *logSink {
	if stderr {
		return &logSink{class: program.SinkShared}
	}
	return &logSink{class: program.SinkSyslog, destination: destination}
}

// open connects to the destination for one child, or for the agent itself.
func (s *logSink) open() (*os.File, error) {
	file, err := program.OpenSink(s.destination)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
	return file, err
}

// trouble is why the last connection was not made, nil when it was.
func (s *logSink) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// forChildren gives what a Spec needs: an open file, or a way to open one.
func (s *logSink) forChildren() (*os.File, func() (*os.File, error)) {
	if s.class == program.SinkShared {
		return os.Stderr, nil
	}
	return nil, s.open
}

// logger opens the agent's own sink. A destination that does not answer is
// marked for exit 69, one that is no datagram socket for exit 78 (OBS-1).
func (s *logSink) logger(levels string) (*slog.Logger, func() error, error) {
	parsed, err := program.ParseLevels(levels)
	if err != nil {
		return nil, nil, program.Reject(err)
	}
	out, shut := os.Stderr, func() error { return nil }
	if s.class == program.SinkSyslog {
		if out, err = s.open(); err != nil {
			return nil, nil, err
		}
		shut = out.Close
	}
	log := program.NewLogger(program.LogOptions{
		Sink: s.class, Out: out, Workload: "agent", Component: "run", Levels: parsed,
	})
	return slog.New(program.Limit(log.Handler(), program.LimitOptions{Keys: apart})), shut, nil
}

// apart are the attributes by which repeated warnings of one place are told
// apart (OBS-4): their values are of bounded sets.
var apart = []string{"workload", "state", "result", "reason"}
