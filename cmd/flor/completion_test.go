package main

import (
	"testing"

	"github.com/florete/flor/cmd/internal/completion/completiontest"
)

// Tab completes in the shells, with names from the active set.
func TestTab(t *testing.T) {
	t.Parallel()
	i, r := newStation(t), newRete("demo")
	i.enrol(r.bundle())
	i.file("alpha.bundle", nil)
	env := []string{"FLOR_STATE_HOME=" + i.dir + "/state", "FLOR_CONFIG_HOME=" + i.dir + "/config", "FLOR_RUNTIME_DIR=" + i.dir + "/run", "FLOR_LIB_DIR=" + i.lib}
	completiontest.Program{Name: "flor", Dir: i.dir, Env: env}.Run(t, []completiontest.Case{
		{Line: "flor enr", Want: "enroll"},
		{Line: "flor enroll al", Want: "alpha.bundle"},
		{Line: "flor agent stat", Want: "status"},
		{Line: "flor agent status --re", Want: "--rete"},
		{Line: "flor agent status --rete de", Want: "demo"},
		{Line: "flor agent restart fl", Want: "flor"}, // the name of the program as well
		{Line: "flor ping coo", Want: "coordinator"},
		{Line: "flor ping --as al", Want: "alpha"},
		{Line: "flor ping coordinator --as al", Want: "alpha"},
	})
}
