package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
)

const (
	// checkWithin is how long an executable may take to judge an artifact
	// (AGT-4.3).
	checkWithin = 10 * time.Second
	// checkWords is how much of what it says is kept, in bytes, wordsWithin how
	// long after its end the rest is waited for.
	checkWords  = 4 << 10
	wordsWithin = time.Second
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
	words, err := h.runCheck(ctx, supervise.Spec{
		Name: w.Name, Path: exe, Args: []string{"--check", artifact},
		Env: environ(h.environ, s), Marker: artifactVar + "=" + artifact, Dir: filepath.Dir(artifact),
	})
	return judgeCheck(w, words, err)
}

// judgeCheck makes a verdict of how a --check ended; nil is a pass.
func judgeCheck(w schema.Workload, words string, err error) *Refusal {
	if err == nil {
		return nil
	}
	words = cmp.Or(words, "it does not say why")
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == program.ExitRejected {
		return refuse(Unservable, "workload %s: the %s installed here cannot serve it: %s", w.Name, w.Run[0], words)
	}
	return refuse(CheckFailed, "workload %s: %s --check: %w: %s", w.Name, w.Run[0], err, words)
}

// runCheck runs one --check beside the workloads, so that nothing it starts
// outlives it, nor itself this agent's successor, and gives its last words. What
// it leaves is known by its artifact, which is still staged: no workload ever has
// that one.
func (h *host) runCheck(ctx context.Context, spec supervise.Spec) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, checkWithin, fmt.Errorf("no verdict within %v", checkWithin))
	defer cancel()
	out, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	said := &tail{limit: checkWords}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(said, out) })
	spec.Out = write
	state, err := h.beside(ctx, spec)
	// What nobody could end may hold the other end open for ever.
	_ = errors.Join(write.Close(), out.SetReadDeadline(time.Now().Add(wordsWithin)))
	reading.Wait()
	_ = out.Close()
	return lastWords(said.text), outcomeOfCheck(ctx, state, err)
}

// outcomeOfCheck is how a --check ended, as an error; nil for exit code 0.
func outcomeOfCheck(ctx context.Context, state *os.ProcessState, err error) error {
	if err == nil && state.Success() {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return cmp.Or[error](err, &exec.ExitError{ProcessState: state})
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

// lastWords is what the last line of a program's output says: of a log record of
// ours the error alone, since time, level and name are nothing to a reader of the
// verdict; any other line as it is.
func lastWords(text []byte) string {
	lines := strings.Split(strings.ToValidUTF8(string(bytes.TrimSpace(text)), "?"), "\n")
	line := lines[len(lines)-1]
	stamp, record, _ := strings.Cut(line, " ")
	if _, err := time.Parse(time.RFC3339, stamp); err != nil {
		return line
	}
	if _, field, ok := strings.Cut(record, " err="); ok {
		return fieldValue(field)
	}
	return record
}

// fieldValue is the value at the beginning of the text behind a field's key.
func fieldValue(text string) string {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		word, _, _ := strings.Cut(text, " ")
		return word
	}
	value, err := strconv.Unquote(quoted)
	if err != nil {
		return quoted
	}
	return strings.ReplaceAll(value, "\n", "; ")
}
