package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestBadInput runs retectl in repositories in which lies what should not.
func TestBadInput(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/badinput",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("RETECTL_HOME", env.WorkDir+"/keys")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", raceOptions())
			return nil
		},
		Condition: func(name string) (bool, error) { return name == "root" && os.Geteuid() == 0, nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"alter":  alterFile,
			"sarif":  checkSARIF,
			"fill":   fillFile,
			"crlf":   makeForeign,
			"faults": writeFaults,
			"chmod":  changeMode,
		},
	})
}

// fillFile writes a text again and again, up to a size: fill <file> <size> <text>
func fillFile(ts *testscript.TestScript, neg bool, args []string) {
	text := bytes.Repeat([]byte(args[2]), number(ts, args[1])/len(args[2])+1)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o644))
}

// makeForeign gives a file the line ends and the mark of another world: crlf <file>
func makeForeign(ts *testscript.TestScript, neg bool, args []string) {
	name := ts.MkAbs(args[0])
	text, err := os.ReadFile(name)
	ts.Check(err)
	text = append([]byte("\ufeff"), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))...)
	ts.Check(os.WriteFile(name, text, 0o644))
}

// writeFaults writes a file with one fault a line: faults <file> <count>
func writeFaults(ts *testscript.TestScript, neg bool, args []string) {
	var text strings.Builder
	text.WriteString("users:\n")
	for i := range number(ts, args[1]) {
		text.WriteString("  u" + strconv.Itoa(i) + ": {rolls: []}\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o644))
}

// changeMode changes permissions: chmod <octal> <file>
func changeMode(ts *testscript.TestScript, neg bool, args []string) {
	mode, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	ts.Check(os.Chmod(ts.MkAbs(args[1]), os.FileMode(mode)))
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}
