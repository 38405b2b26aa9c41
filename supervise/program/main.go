package program

import (
	"context"
	"os"

	"github.com/florete/flor/envelope"
)

// Main runs a supervised program and never returns. Its context comes from
// the environment and ends at SIGTERM (or SIGINT); after that, nil and
// context.Canceled are exit 0. Other errors exit as [ExitCode] says, a panic
// with 2, a second signal at once with 1.
func Main(run func(context.Context, *Context) error) {
	Program{Run: run}.Main()
}

// Program is one of the platform's own programs: Main with flags for running
// it by hand. With no flag, the context comes from the environment.
//
//	--rete SCOPE --name NAME --set vN   run on that artifact of that scope
//	--check FILE                        judge an artifact, exit 0 or 78
//	--version                           print the version
type Program struct {
	// Name and Version are what the start line and --version print. An empty
	// Name is the workload's name.
	Name, Version string
	// Run is the program. It returns when ctx is done and it has drained.
	Run func(ctx context.Context, c *Context) error
	// Check judges an artifact without serving it, without network and state.
	// Nil refuses the flag. An error that is not marked is [Reject]ed.
	Check func(c *Context, a envelope.Artifact) error
	// Locate resolves the flags to a context by hand; nil refuses them.
	// Fields it leaves empty are taken from the environment.
	Locate func(h ByHand) (*Context, error)
}

// ByHand is what the flags say; a flag that is not given is empty.
type ByHand struct{ Rete, Name, Set string }

// Main runs the program and never returns (see [Main]).
func (p Program) Main() {
	os.Exit(p.Exit(context.Background(), os.Args[1:], os.Environ()))
}

// Exit runs the program and returns its exit code.
func (p Program) Exit(ctx context.Context, args, environ []string) int { return ExitOK }
