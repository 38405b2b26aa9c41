package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/self"
)

// CNF-3: what is wrong with a command line of a suite is said before anything runs.
func TestWrongUsageOfSuites(t *testing.T) {
	t.Parallel()
	payload := filepath.Join(t.TempDir(), "payload.json")
	if err := os.WriteFile(payload, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"no program", []string{"program"}, "give its command after --"},
		{"a payload that is not there", []string{"program", "--payload", "no-such-file", "--", "true"}, "--payload"},
		{"a payload that is no JSON", []string{"program", "--payload", payload, "--", "true"}, "no JSON text"},
		{"a coordinator of one listener", []string{"coordinator", "--sync", "http://127.0.0.1:1"}, "name both"},
		{"a command and a coordinator that runs", []string{"coordinator", "--sync", "http://x", "--publish", "http://y", "--", "true"}, "not both"},
		{"nothing at once", []string{"program", "--parallel", "0", "--", "true"}, "--parallel"},
		{"self with a program", []string{"self", "true"}, "takes no arguments"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := call(t, tt.args...)
			if code != exitUsage || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit %d, want %d with %q\n%s%s", code, exitUsage, tt.says, stdout, stderr)
			}
		})
	}
}

// Programs that are no workloads are told what to change.
func TestWordsForWhatIsNoWorkload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  string // the case
		argv []string
		says string
	}{
		{"true ends", "start/serves", []string{"/bin/true"}, "ended with exit 0 without having been told to stop"},
		{"cat ends with its input", "start/serves", []string{"/bin/cat"}, "also when standard input, which is the null device, is at its end"},
		{"false crashes", "start/serves", []string{"/bin/false"}, "it crashed with exit 1"},
		{"nothing refuses", "artifact/half", []string{"/bin/true"}, "exit with 78, which tells its agent that trying again is of no use"},
		{"sleep dies of SIGTERM", "stop/sigterm", []string{"sleep", "100"}, "SIGTERM killed it: handle SIGTERM"},
		{"a trap that ignores SIGTERM", "stop/sigterm", []string{"sh", "-c", `trap "" TERM; sleep 100`}, "still runs 10s after SIGTERM"},
		{"no channel", "control/ready", []string{"sleep", "100"}, "leave control out of --features"},
		{"no channel for counters", "metrics/text", []string{"sleep", "100"}, "leave metrics out of --features"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := call(t, append([]string{"program", "--run", "^program/" + tt.run + "$", "--"}, tt.argv...)...)
			if code != 1 || !strings.Contains(stdout, tt.says) {
				t.Errorf("exit %d, want 1 with %q\n%s%s", code, tt.says, stdout, stderr)
			}
		})
	}
}

// Whatever a suite is for, a program that does not serve is told so at once, and what
// to do about it.
func TestWordsForWhatDoesNotServe(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"agent": "agent/store/active-set-is-served", "vertex": "vertex/stream/echo", "coordinator": "coordinator/fetch/set",
	}
	tests := []struct {
		name string
		argv []string
		says string
	}{
		{"ends", []string{"/bin/true"}, "it ended with exit 0 without having been told to stop, which is a crash"},
		{"crashes", []string{"/bin/false"}, "it crashed with exit 1 on what is good"},
		{"refuses", []string{"sh", "-c", "echo no such thing; exit 78"}, `it refused with exit 78 what it was started on, which is good: serve it until SIGTERM`},
		{"says why", []string{"sh", "-c", "echo no such thing; exit 78"}, `the program said "no such thing"`},
		{"misses a service", []string{"sh", "-c", "exit 69"}, "exit 69 says that a host service does not answer"},
		{"is not there", []string{"./no-such-program"}, "it cannot be started: "},
		{"is a directory", []string{"/"}, "is a directory; give the command line"},
		{"is no executable", []string{"./suite.go"}, "suite.go is not executable, its mode is -"},
	}
	for suite, id := range cases {
		for _, tt := range tests {
			t.Run(suite+" that "+tt.name, func(t *testing.T) {
				t.Parallel()
				code, stdout, stderr := call(t, append([]string{suite, "--run", "^" + id + "$", "--"}, tt.argv...)...)
				if code != 1 || !strings.Contains(stdout, tt.says) {
					t.Errorf("exit %d, want 1 with %q\n%s%s", code, tt.says, stdout, stderr)
				}
			})
		}
	}
}

// A coordinator that runs somewhere is never told success: what needs a program is
// not claimed.
func TestACoordinatorThatRunsIsCheckedInPart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	code, stdout, _ := call(t, "coordinator", "--sync", url, "--publish", url, "--run", "publish/accepted$|restart/floors$")
	if code != 1 || !strings.Contains(stdout, "skip  coordinator/restart/floors") || !strings.Contains(stdout, "POST /publish/mgmt") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
}

// The whole of self is run by CI as a command; here, that what it checks is built,
// checked and reported.
func TestSelfBuildsAndChecks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, stdout, stderr := call(t, "self", "--run", "^program/(start/serves|metrics/text)$", "--reports", dir)
	if code != 0 || !strings.HasSuffix(stdout, "partial: 3 passed, 0 failed, 1 skipped in 2 runs\n") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	var report conformance.Report
	read(t, filepath.Join(dir, "program-tenant.json"), json.Unmarshal, &report)
	if report.Target.Tool != "flor-conformance" || len(report.Cases) != 2 || report.Outcome != conformance.Partial {
		t.Errorf("%+v", report)
	}
}

// A mutant is built, killed by the case that it names, and shown.
func TestSelfKillsAMutant(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := call(t, "self", "--mutants", "--run", "^ends-unasked$")
	if code != 0 || !strings.Contains(stdout, "program/start/serves  kills ends-unasked\n") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// Outside of a checkout there is nothing to build: said so, and not tried.
func TestSelfOutsideOfACheckoutIsRefused(t *testing.T) {
	t.Parallel()
	_, err := self.OpenWorkshop(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "run this in a checkout of github.com/florete/flor") {
		t.Error(err)
	}
}

func TestSelfListsAllSuites(t *testing.T) {
	t.Parallel()
	code, stdout, _ := call(t, "self", "--list")
	for _, suite := range []string{"\nprogram/start/serves\t", "\ncoordinator/fetch/set\t", "vectors/mark/below\t", "\nagent/", "\nvertex/"} {
		if code != 0 || !strings.Contains(stdout, suite) {
			t.Errorf("exit %d, %q is not listed", code, suite)
		}
	}
}
