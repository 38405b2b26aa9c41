package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// guides are read, and run, one after the other.
var guides = []string{"../cmd/retectl/GUIDE.md", "../cmd/flor/GUIDE.md"}

// guideTimeout bounds all blocks of all guides together.
const guideTimeout = 4 * time.Minute

// A guideBlock is a command block, and the output that the guide shows for it.
type guideBlock struct {
	place    string // file:line
	commands string
	output   string // empty: the guide shows none
	root     bool   // for root, on a machine of its own that systemd has booted
}

// fencedBlock is a block with its language, and for whom it is.
var fencedBlock = regexp.MustCompile("(?ms)^```(\\w+)( root)?\n(.*?)^```$")

// unnoticed are lines of which a part may fail without ending a shell under -e.
var unnoticed = regexp.MustCompile(`(?m)^[^$\n]*&&`)

// guideBlocks reads the blocks of a guide. A text block shows the output of the
// command block before it.
func guideBlocks(file, text string) ([]guideBlock, error) {
	var blocks []guideBlock
	for _, at := range fencedBlock.FindAllStringSubmatchIndex(text, -1) {
		place := fmt.Sprintf("%s:%d", file, 1+strings.Count(text[:at[0]], "\n"))
		language, root, body := text[at[2]:at[3]], at[4] >= 0, text[at[6]:at[7]]
		switch {
		case language == "sh" && unnoticed.MatchString(body):
			return nil, fmt.Errorf("%s: the shell goes on when what stands before && fails: begin a line instead", place)
		case language == "sh":
			blocks = append(blocks, guideBlock{place: place, commands: body, root: root})
		case language == "text" && len(blocks) > 0 && blocks[len(blocks)-1].output == "":
			blocks[len(blocks)-1].output = body
		default:
			return nil, fmt.Errorf("%s: neither commands nor the output of some", place)
		}
	}
	return blocks, nil
}

// matcher is what output must match: … stands for any part of a line, and alone in
// a line for any lines, or none.
func matcher(want string) *regexp.Regexp {
	var pattern strings.Builder
	for line := range strings.Lines(want) {
		line = strings.TrimSuffix(line, "\n")
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "\n")
	}
	return regexp.MustCompile("^" + pattern.String() + "$")
}

// script runs the blocks in one shell, as whoever follows the guide does; each
// writes its output to a file of its own, and the first that fails ends it.
func script(blocks []guideBlock, dir string) string {
	var text strings.Builder
	text.WriteString("set -eu\n")
	for i, block := range blocks {
		fmt.Fprintf(&text, "exec >%s 2>&1\n%s\n", outputOf(dir, i), block.commands)
	}
	return text.String()
}

func outputOf(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("block%03d", i)) }

// loopback is an address of this run alone where the system has many: the ports
// of the guides are then free.
func loopback() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(128), rand.IntN(256), 1+rand.IntN(254))
}

// readGuides gives the blocks of all guides, those for root apart.
func readGuides(t *testing.T) (blocks, root []guideBlock) {
	t.Helper()
	for _, file := range guides {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		more, err := guideBlocks(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range more {
			if block.root {
				root = append(root, block)
			} else {
				blocks = append(blocks, block)
			}
		}
	}
	return blocks, root
}

// TestGuidesWorkAsWritten runs every command block of the guides, from the top,
// in an empty directory, with the real programs; those for root on a machine that
// systemd has booted.
func TestGuidesWorkAsWritten(t *testing.T) {
	t.Parallel()
	blocks, root := readGuides(t)
	here := newTerminal(t)
	for _, fault := range play(t, here, blocks) {
		t.Error(fault)
	}
	t.Run("as root, under systemd", func(t *testing.T) {
		for _, fault := range play(t, bootTerminal(t, filepath.Join(here.dir, "build")), root) {
			t.Error(fault)
		}
	})
}

func TestAGuideThatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	const fence = "```"
	block := func(language, text string) string { return fence + language + "\n" + text + fence + "\n" }
	for name, test := range map[string]struct {
		guide string
		want  []string // how the faults begin
	}{
		"output as shown":          {block("sh", "echo one; echo two 2\n") + block("text", "…\ntwo …\n"), nil},
		"no output shown":          {block("sh", "echo one\n"), nil},
		"another output":           {block("sh", "echo one\n") + block("text", "two\n"), []string{"g:1: printed"}},
		"less output than shown":   {block("sh", "true\n") + block("text", "one\n"), []string{"g:1: printed"}},
		"more output than shown":   {block("sh", "echo one; echo two\n") + block("text", "one\n"), []string{"g:1: printed"}},
		"a command that fails":     {block("sh", "true\n") + block("sh", "false; true\n") + block("sh", "true\n"), []string{"g:4: exit status 1"}},
		"the last command fails":   {block("sh", "exit 3\n"), []string{"g:1: exit status 3"}},
		"a variable that is unset": {block("sh", "echo $nowhere\n"), []string{"g:1: exit status"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, err := guideBlocks("g", test.guide)
			if err != nil {
				t.Fatal(err)
			}
			faults := play(t, newTerminal(t), blocks)
			if len(faults) != len(test.want) {
				t.Fatalf("found %q, want %q", faults, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(faults[i], want) {
					t.Errorf("found %q, want %q", faults[i], want)
				}
			}
		})
	}
}

// A terminal is where a guide is followed: a shell in an empty directory, with
// files for what each block prints.
type terminal interface {
	outputs() string // a directory
	run(script string) error
	read(file string) ([]byte, error)
}

// play runs blocks in a terminal, and tells which fail or print something else than
// the guide shows.
func play(t *testing.T, at terminal, blocks []guideBlock) []string {
	t.Helper()
	failed := at.run(script(blocks, at.outputs()))
	var faults []string
	for i, block := range blocks {
		printed, err := at.read(outputOf(at.outputs(), i))
		if err != nil {
			t.Fatalf("%s: %v; the shell: %v", block.place, err, failed)
		}
		if _, err := at.read(outputOf(at.outputs(), i+1)); err != nil && failed != nil {
			return append(faults, fmt.Sprintf("%s: %v\n%s\n%s", block.place, failed, block.commands, printed))
		}
		if block.output != "" && !matcher(block.output).Match(printed) {
			faults = append(faults, fmt.Sprintf("%s: printed\n%s\nthe guide shows\n%s", block.place, printed, block.output))
		}
	}
	return faults
}

// hostTerminal is one of this machine, with what an author of this module has: Go,
// its caches, and a name for git.
type hostTerminal struct {
	t       *testing.T
	dir     string // empty at first
	written string // its outputs
}

func newTerminal(t *testing.T) *hostTerminal {
	t.Helper()
	return &hostTerminal{t, shortDir(t), t.TempDir()}
}

func (h *hostTerminal) outputs() string { return h.written }

func (h *hostTerminal) read(file string) ([]byte, error) { return os.ReadFile(file) }

func (h *hostTerminal) run(script string) error {
	module, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), guideTimeout)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-c", script)
	shell.Dir = h.dir
	shell.Env = append(append(os.Environ(), author...), "FLOR="+module, "IP="+loopback(), "HOME="+h.dir,
		"GOCACHE="+goEnv(h.t, "GOCACHE"), "GOMODCACHE="+goEnv(h.t, "GOMODCACHE"), "GOPATH="+goEnv(h.t, "GOPATH"))
	endWithGroup(h.t, shell)
	return shell.Run()
}

// author is a name for git.
var author = []string{
	"GIT_AUTHOR_NAME=fyodor", "GIT_AUTHOR_EMAIL=fyodor@example.org",
	"GIT_COMMITTER_NAME=fyodor", "GIT_COMMITTER_EMAIL=fyodor@example.org",
}

// shortDir is a directory whose path leaves room for the names of sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// endWithGroup ends whatever the shell has started and a failed block left, when
// the test ends: agents are asked first, because they end their workloads then.
func endWithGroup(t *testing.T, shell *exec.Cmd) {
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signal := func(s syscall.Signal) error { return syscall.Kill(-shell.Process.Pid, s) }
	shell.Cancel = func() error { return signal(syscall.SIGTERM) }
	shell.WaitDelay = 10 * time.Second
	t.Cleanup(func() {
		if shell.Process == nil || signal(syscall.SIGTERM) != nil {
			return // nobody is left
		}
		again := time.NewTicker(50 * time.Millisecond)
		defer again.Stop()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-again.C {
			if signal(0) != nil {
				return
			}
		}
		if err := signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
}
