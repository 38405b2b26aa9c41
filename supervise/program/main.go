package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/florete/flor/envelope"
)

// ExitPanic is the exit code of a program that panicked, as Go's own.
const ExitPanic = 2

// Main runs a supervised program and never returns. Its context comes from
// the environment and ends at SIGTERM (or SIGINT); after that, nil and
// context.Canceled are exit 0. Other errors exit as [ExitCode] says, a panic
// with 2, a second signal at once with 1 (SUP-3, SUP-4, SUP-10). Of the command
// line it takes --version; anything else there is exit 2.
func Main(run func(context.Context, *Context) error) { Program{Run: run}.Main() }

// Program is one of the platform's own programs: Main with flags for running
// it by hand, which override the environment (SUP-1).
//
//	--rete SCOPE --name NAME --set vN   run on that artifact of that scope
//	--check FILE                        judge an artifact, exit 0 or 78
//	--version                           print the version
type Program struct {
	// Name and Version are what the start line and --version print. An empty
	// Name is the name of the executable, an empty Version that of the main
	// module as the go command recorded it.
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

// invocation is the command line.
type invocation struct {
	byHand  ByHand
	check   string
	version bool
}

// Main runs the program and never returns (see [Main]).
func (p Program) Main() {
	// A log pipe whose reader has gone must not end the program. The signal is
	// caught and not ignored, because children inherit what is ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(p.Exit(context.Background(), os.Args[1:], os.Environ()))
}

// recordedVersion is that of the main module, "(devel)" where it has none.
func recordedVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// Exit runs the program and returns its exit code. It is Main for tests and
// for programs that have something to do afterwards. args are those after the
// name of the program, environ has the form of os.Environ.
func (p Program) Exit(ctx context.Context, args, environ []string) int {
	if p.Name == "" {
		p.Name = filepath.Base(os.Args[0])
	}
	if p.Version == "" {
		p.Version = recordedVersion()
	}
	inv, err := p.parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return ExitOK
	case err != nil:
		return ExitUsage
	case inv.version:
		fmt.Println(p.Name, p.Version)
		return ExitOK
	}
	c, err := p.context(inv.byHand, environ)
	code := p.perform(ctx, c, inv, err)
	c.Close()
	return code
}

// perform does what the command line asks for; err is what is wrong with the
// context.
func (p Program) perform(ctx context.Context, c *Context, inv invocation, err error) int {
	switch {
	case err != nil:
		return p.outcome(c, err, false)
	case inv.check != "":
		return p.judge(c, inv.check)
	default:
		return p.serve(ctx, c)
	}
}

// parse reads the command line; what is wrong with it is on standard error.
func (p Program) parse(args []string) (invocation, error) {
	var inv invocation
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	if p.Locate != nil {
		flags.StringVar(&inv.byHand.Rete, "rete", "", "run by hand in this `scope`")
		flags.StringVar(&inv.byHand.Name, "name", "", "run as the workload of this `name`")
		flags.StringVar(&inv.byHand.Set, "set", "", "run on this `set`, as v42")
	}
	if p.Check != nil {
		flags.StringVar(&inv.check, "check", "", "judge the artifact in this `file` and exit")
	}
	flags.BoolVar(&inv.version, "version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return inv, err
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(flags.Output(), "%s takes no argument %q: see --help\n", p.Name, flags.Arg(0))
		return inv, errors.New("arguments")
	}
	return inv, nil
}

// context reads the environment and has flags override it.
func (p Program) context(h ByHand, environ []string) (*Context, error) {
	c, err := FromEnvironment(environ, p.Name)
	if err != nil || h == (ByHand{}) {
		return c, err
	}
	byHand, err := p.Locate(h)
	if err != nil {
		return c, err
	}
	c.override(byHand)
	return c, c.open(variables(environ)[EnvLog], p.Name)
}

// override takes over every field that by has.
func (c *Context) override(by *Context) {
	fields := []struct{ to, from *string }{
		{&c.Scope, &by.Scope}, {&c.Name, &by.Name},
		{&c.MgmtArtifact, &by.MgmtArtifact}, {&c.CtrlArtifact, &by.CtrlArtifact},
		{&c.StateDir, &by.StateDir}, {&c.ControlSocket, &by.ControlSocket},
		{&c.ScopeRoot, &by.ScopeRoot}, {&c.RuntimeRoot, &by.RuntimeRoot},
	}
	for _, f := range fields {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
}

// judge is --check.
func (p Program) judge(c *Context, file string) int {
	a, err := ReadArtifact(file)
	if err == nil {
		err = p.Check(c, a)
	}
	if ExitCode(err) == ExitCrash {
		err = Reject(err)
	}
	return p.outcome(c, err, true)
}

// serve runs the program until it ends.
func (p Program) serve(ctx context.Context, c *Context) int {
	ctx, stop := untilSignal(ctx, c.Log)
	defer stop()
	c.Log.Info("started", "program", p.Name, "version", p.Version, "sink", sinkWord(c.Sink))
	err := p.call(ctx, c)
	told := ctx.Err() != nil
	if told && errors.Is(err, context.Canceled) && ExitCode(err) == ExitCrash {
		err = nil
	}
	return p.outcome(c, err, told)
}

// untilSignal returns a context that ends at SIGTERM or SIGINT. A second
// signal ends the process.
func untilSignal(parent context.Context, log *slog.Logger) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for n := 1; ; n++ {
			select {
			case sig := <-signals:
				if n > 1 {
					log.Error("told to stop a second time, not draining any longer", "signal", sig.String())
					os.Exit(ExitCrash)
				}
				log.Info("told to stop", "signal", sig.String())
				cancel()
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		<-watched
		cancel()
	}
}

// panicked is a panic of Run as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func (p Program) call(ctx context.Context, c *Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return p.Run(ctx, c)
}

// outcome logs how the program ended and returns its exit code. told means
// that ending without an error is what was wanted.
func (p Program) outcome(c *Context, err error, told bool) int {
	code := ExitCode(err)
	if crash := (*panicked)(nil); errors.As(err, &crash) {
		c.Log.Error("panic", "value", fmt.Sprint(crash.value), "stack", string(crash.stack))
		return ExitPanic
	}
	switch {
	case code == ExitRejected:
		c.Log.Error("cannot serve this configuration", "err", err)
	case code == ExitUnavailable:
		c.Log.Error("a host service does not answer", "err", err)
	case err != nil:
		c.Log.Error("failed", "err", err)
	case !told:
		c.Log.Warn("ended without having been told to stop")
	}
	return code
}

func sinkWord(s Sink) string {
	if s == SinkPlain {
		return "stderr"
	}
	return string(s)
}
