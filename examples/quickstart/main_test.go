package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestQuickstartShowsItsRete runs the whole demonstration, with the real
// programs, and looks for each thing it promises to show.
func TestQuickstartShowsItsRete(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the quickstart builds four programs and runs for some seconds")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out bytes.Buffer
	if err := run(t.Context(), &out, false); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, shown := range []string{
		`allowed: alice asks the shop, which answers "hello`,
		`denied: alice asks the stock, SOCKS reply 2`,
		`service to service: .*lamp: 14 euros`,
		`laptop has set v2 active, \d+ ms`,
		`alpha has set v2 active, \d+ ms`,
		`revoked: bob's download was cut \d+ ms`,
		`alice's download ran through it, whole`,
		`forged: .*exit code 1`,
		`bad-signature`,
		`killed: .*answered again after \d+ ms`,
		`(?s)quickstart: ok \d+\.\ds\n$`,
	} {
		if !regexp.MustCompile(shown).Match(out.Bytes()) {
			t.Errorf("the quickstart did not show %q", shown)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	assertNothingLeft(t, temp)
}

func assertNothingLeft(t *testing.T, temp string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(temp, "flor-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	for _, exe := range runningBelow(t, temp) {
		t.Errorf("a process still runs: %s", exe)
	}
}

// runningBelow lists the executables of running processes that lie below dir.
func runningBelow(t *testing.T, dir string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	processes, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var running []string
	for _, link := range processes {
		if exe, err := os.Readlink(link); err == nil && strings.HasPrefix(exe, dir) {
			running = append(running, exe)
		}
	}
	return running
}
