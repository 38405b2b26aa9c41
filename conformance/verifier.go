package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/conformance/vectors"
)

// VectorSuite is the name of the suite of vectors.
const VectorSuite = "vectors"

// verifyWithin is how long a verifier may take for one vector.
const verifyWithin = 30 * time.Second

// Exit codes of a verifier (CNF-2).
const (
	exitAccept      = 0
	exitRefuse      = 1
	exitUnsupported = 3
)

// maxWords bounds how much of what a verifier says is kept, in bytes.
const maxWords = 4 << 10

// Verifier answers whether an implementation accepts a vector.
type Verifier interface {
	// Verify answers the vector in a directory. An error says that there was
	// no answer.
	Verify(ctx context.Context, e vectors.Entry) (VerifierAnswer, error)
}

// VerifierAnswer is what a verifier says of one vector.
type VerifierAnswer struct {
	Accepted bool
	Code     string // where it refuses
	Output   string // where it accepts: standard output without its line feed
}

// Vectors returns the suite of vectors against a verifier (CNF-2).
func Vectors(v Verifier) ([]Case, error) {
	index, err := vectors.Load()
	if err != nil {
		return nil, err
	}
	cases := make([]Case, 0, len(index.Cases))
	for _, e := range index.Cases {
		cases = append(cases, Case{
			Suite: VectorSuite, Name: e.Name, Title: e.Title, Feature: e.Feature, Requirements: e.Requirements,
			Check: func(ctx context.Context) error { return judgeVector(ctx, v, e) },
		})
	}
	return cases, nil
}

// judgeVector compares what a verifier says with what it should say.
func judgeVector(ctx context.Context, v Verifier, e vectors.Entry) error {
	answer, err := v.Verify(ctx, e)
	switch {
	case err != nil:
		return err
	case answer.Accepted && e.Expect == vectors.Refuse:
		return fmt.Errorf("accepted; it must be refused with %s %s: %s", e.Code, e.Reason, e.Title)
	case !answer.Accepted && e.Expect == vectors.Accept:
		return fmt.Errorf("refused with %q; it must be accepted: %s", answer.Code, e.Title)
	case !answer.Accepted && answer.Code != e.Code:
		return fmt.Errorf("refused with %q; the code must be %s %s", answer.Code, e.Code, e.Reason)
	case answer.Accepted && e.Output != "" && answer.Output != e.Output:
		return fmt.Errorf("printed %q; it must print %q", answer.Output, e.Output)
	}
	return nil
}

// Command is a verifier that is a program: its command line, to which "verify"
// and a directory are added (CNF-2). It may be used from several goroutines.
type Command []string

// Verify unpacks the vector into a directory of its own and runs the program
// once.
func (c Command) Verify(ctx context.Context, e vectors.Entry) (VerifierAnswer, error) {
	dir, err := unpack(e)
	if err != nil {
		return VerifierAnswer{}, fmt.Errorf("unpack the vector: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, verifyWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c[0], append(slices.Clone(c[1:]), "verify", dir)...)
	cmd.WaitDelay = time.Second // for pipes that a child of the program holds open
	var stdout, stderr clipped
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return VerifierAnswer{}, fmt.Errorf("the verifier gave no answer: %w", errors.Join(ctx.Err(), err))
	}
	return readAnswer(cmd.ProcessState.ExitCode(), stdout.String(), stderr.String())
}

func unpack(e vectors.Entry) (string, error) {
	files, err := e.Files()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "flor-conformance-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// readAnswer reads what a verifier said (CNF-2).
func readAnswer(exit int, stdout, stderr string) (VerifierAnswer, error) {
	switch exit {
	case exitAccept:
		return VerifierAnswer{Accepted: true, Output: strings.TrimSuffix(stdout, "\n")}, nil
	case exitRefuse:
		code, _, _ := strings.Cut(strings.TrimSuffix(stdout, "\n"), " ")
		return VerifierAnswer{Code: code}, nil
	case exitUnsupported:
		return VerifierAnswer{}, errors.New("exit 3 says that it does not support this, and the feature is claimed: leave it out of --features")
	}
	return VerifierAnswer{}, fmt.Errorf("exit %d is no answer: it must be 0 to accept, 1 to refuse, 3 for what is not supported; it said %q", exit, stderr)
}

// clipped keeps the first bytes of what is written to it.
type clipped struct{ kept bytes.Buffer }

func (c *clipped) Write(p []byte) (int, error) {
	c.kept.Write(p[:min(len(p), maxWords-c.kept.Len())])
	return len(p), nil
}

func (c *clipped) String() string { return c.kept.String() }
