package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"retectl": func() { os.Exit(retectl()) },
		"held":    runHeld,
	})
}

// TestScripts runs each command as its users do, and pins what they see.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("RETECTL_HOME", env.WorkDir+"/keys")
			env.Setenv("FLOR_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", raceOptions())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"coordinator": startCoordinator,
			"agent":       startAgent,
			"mode":        checkMode,
			"alter":       alterFile,
			"sarif":       checkSARIF,
		},
	})
}

// raceOptions spares each run of the program the second that the race detector
// waits at an exit for goroutines to report: over the scripts it is minutes, and
// what runs beside an exit of retectl is only what the exit ends.
func raceOptions() string {
	return strings.TrimSpace(os.Getenv("GORACE") + " atexit_sleep_ms=10")
}

// Every refusal of the command has a code of its own, in the command's block.
func TestEveryReasonHasItsOwnCode(t *testing.T) {
	t.Parallel()
	codes := Codes()
	if len(codes) != len(reasons)+1 {
		t.Errorf("%d reasons and wrong usage share %d codes", len(reasons), len(codes))
	}
	for code, meaning := range codes {
		if !strings.HasPrefix(code, "FL07") || meaning == "" {
			t.Errorf("code %q means %q", code, meaning)
		}
	}
}

// Whoever looks up a refusal of the command learns why, and what to do.
func TestEveryReasonHasACauseAndAFix(t *testing.T) {
	t.Parallel()
	for reason, r := range reasons {
		page, known := explainRefusal(r.code)
		if !known || page.Cause == "" || page.Fix == "" || page.Reason != string(reason) {
			t.Errorf("%s %s has the page %+v", r.code, reason, page)
		}
	}
}
