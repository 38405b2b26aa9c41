package agent

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/florete/flor/envelope/schema"
)

// AGT-4.3: a verdict says what is wrong, and not how a program logs.
func TestTheWordsOfACheck(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, output, want string }{
		{"the error of a log record", "2026-11-30T00:56:57.400Z ERROR flor-vertex: cannot serve this configuration err=\"FL1017 schema-too-new: a \\\"b\\\"\" more=1\n", `FL1017 schema-too-new: a "b"`},
		{"one word of error", "2026-11-30T00:56:57.400Z ERROR flor-vertex: failed err=EOF", "EOF"},
		{"joined errors on one line", `2026-11-30T00:56:57.400Z ERROR v: failed err="one\ntwo"`, "one; two"},
		{"a record without an error", "2026-11-30T00:56:57.400Z WARN v: ended", "WARN v: ended"},
		{"an error cut off by the limit", `2026-11-30T00:56:57.400Z ERROR v: failed err="one two`, `"one`},
		{"the last of several lines", "first\nsecond\n\n", "second"},
		{"no words", "", ""},
		{"bytes that are no text", "a\xff", "a?"},
	}
	for _, tt := range tests {
		if got := lastWords([]byte(tt.output)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAVerdictNamesWorkloadAndProgram(t *testing.T) {
	t.Parallel()
	w := schema.Workload{Name: "flor", Run: []string{"flor-vertex"}}
	rejects := exec.Command("/bin/sh", "-c", "exit 78").Run()
	for _, tt := range []struct {
		words string
		err   error
		want  string
	}{
		{"FL1017 schema-too-new", rejects, "FL1404 unservable: workload flor: the flor-vertex installed here cannot serve it: FL1017 schema-too-new"},
		{"", rejects, "FL1404 unservable: workload flor: the flor-vertex installed here cannot serve it: it does not say why"},
		{"panic", errors.New("exit status 2"), "FL1405 check-failed: workload flor: flor-vertex --check: exit status 2: panic"},
	} {
		if got := judgeCheck(w, tt.words, tt.err).Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
