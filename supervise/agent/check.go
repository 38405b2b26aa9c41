package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise/program"
)

const (
	// checkWithin is how long an executable may take to judge an artifact
	// (AGT-4.3).
	checkWithin = 10 * time.Second
	// checkWords is how much of what it says is kept, in bytes.
	checkWords = 4 << 10
)

// check asks the executables of all workloads that would run on something new
// whether they can serve it (AGT-4.3). path gives the file of a member. The
// error is a *Refusal: Unservable when one said so or is missing, CheckFailed
// when one could not be asked.
func (h *host) check(ctx context.Context, g *generation, steps []step, path func(name string) string) error {
	if err := h.checkPaths(g.agent); err != nil {
		return &Refusal{Reason: Unservable, Offered: g.version, Err: err}
	}
	for _, name := range changed(steps) {
		if err := h.checkWorkload(ctx, g.workload(name), path(name)); err != nil {
			err.Offered = g.version
			return err
		}
	}
	return nil
}

// checkWorkload looks for the executable and, if it ships with flor, runs it
// with --check in its spawn environment.
func (h *host) checkWorkload(ctx context.Context, w schema.Workload, artifact string) *Refusal {
	exe, err := executable(h.lib, w.Run[0])
	if err != nil {
		return refuse(Unservable, "workload %s: %w", w.Name, err)
	}
	if !ships(w.Run[0]) {
		return nil
	}
	s := h.spawn(w, artifact)
	s.logSink = program.SinkPlain
	words, err := h.runCheck(ctx, exe, artifact, environ(h.environ, s))
	return judgeCheck(w.Name, words, err)
}

// judgeCheck makes a verdict of how a --check ended; nil is a pass.
func judgeCheck(name, words string, err error) *Refusal {
	if err == nil {
		return nil
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == program.ExitRejected {
		return refuse(Unservable, "workload %s: %s", name, words)
	}
	return refuse(CheckFailed, "workload %s: --check: %w: %s", name, err, words)
}

// runCheck runs one --check in a process group of its own, so that nothing it
// starts outlives it, and gives the last line it wrote.
func (h *host) runCheck(ctx context.Context, exe, artifact string, env []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, checkWithin, fmt.Errorf("no verdict within %v", checkWithin))
	defer cancel()
	out := &tail{limit: checkWords}
	cmd := exec.CommandContext(ctx, exe, "--check", artifact)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, filepath.Dir(artifact), out, out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := h.beside(cmd)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.lastLine(), err
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	text  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - t.limit; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

// lastLine is the last line written, without the time that stands before a log
// record.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.ToValidUTF8(string(bytes.TrimSpace(t.text)), "?"), "\n")
	line := lines[len(lines)-1]
	stamp, words, _ := strings.Cut(line, " ")
	if _, err := time.Parse(time.RFC3339, stamp); err == nil {
		return words
	}
	return line
}
