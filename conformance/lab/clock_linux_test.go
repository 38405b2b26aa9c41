package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/florete/flor/supervise/control"
)

// The kernel has one wall clock for all namespaces. So the programs of nodes with
// clocks of their own are built with a standard library in which time.Now adds
// what the environment says; nothing else about them is different.

const skewVariable = "LAB_CLOCK_SKEW"

const skewSource = `package time

import "syscall"

// labSkew is how many seconds the wall clock of this process is ahead.
var labSkew = readLabSkew()

func readLabSkew() (seconds int64) {
	text, _ := syscall.Getenv("` + skewVariable + `")
	for _, c := range text {
		if c >= '0' && c <= '9' {
			seconds = seconds*10 + int64(c-'0')
		}
	}
	if len(text) > 0 && text[0] == '-' {
		return -seconds
	}
	return seconds
}
`

var skewed struct {
	once     sync.Once
	programs Programs
	err      error
}

// skewedPrograms builds what runs on a node whose clock is its own.
func skewedPrograms(t *testing.T) Programs {
	t.Helper()
	programs(t) // makes the directory
	skewed.once.Do(func() {
		skewed.programs, skewed.err = buildSkewed(t.Context(), filepath.Join(built.dir, "skewed"))
	})
	if skewed.err != nil {
		t.Fatal(skewed.err)
	}
	return skewed.programs
}

func buildSkewed(ctx context.Context, dir string) (Programs, error) {
	bin, lib := filepath.Join(dir, "bin"), filepath.Join(dir, "lib", "flor")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Programs{}, err
	}
	overlay, err := writeOverlay(ctx, dir)
	if err != nil {
		return Programs{}, err
	}
	args := []string{"-overlay", overlay, "-ldflags", "-s -w"}
	if err := goBuild(ctx, bin, args, "flor"); err != nil {
		return Programs{}, err
	}
	return Programs{bin}, goBuild(ctx, lib, args, "flor-vertex")
}

// writeOverlay makes the two files that `go build -overlay` puts into package
// time.
func writeOverlay(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	at := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(at, "time.go"))
	if err != nil {
		return "", err
	}
	changed, err := skewNow(string(source))
	if err != nil {
		return "", err
	}
	replace := map[string]string{
		filepath.Join(at, "time.go"):     filepath.Join(dir, "time.go"),
		filepath.Join(at, "lab_skew.go"): filepath.Join(dir, "lab_skew.go"),
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{"time.go": changed, "lab_skew.go": skewSource, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "overlay.json"), nil
}

// skewNow adds the skew to what the body of time.Now reads from the kernel.
func skewNow(source string) (string, error) {
	const signature, reading = "\nfunc Now() Time {\n", "\tsec, nsec, mono := runtimeNow()\n"
	at := strings.Index(source, signature)
	if at < 0 || !strings.HasPrefix(source[at+len(signature):], reading) {
		return "", fmt.Errorf("time.Now of this Go does not begin with %q: teach the lab its new form", strings.TrimSpace(reading))
	}
	at += len(signature) + len(reading)
	return source[:at] + "\tsec += labSkew\n" + source[at:], nil
}

// setClock lets the programs that are started on a node from now on be ahead.
func setClock(n *Node, ahead time.Duration) {
	n.Env = []string{fmt.Sprintf("%s=%d", skewVariable, int64(ahead.Seconds()))}
}

// VTX-8, PKI-4: clocks may differ by less than certificates are dated back; one
// that is wrong by more costs its own node its connections, says so, and is
// forgiven when it is right again.
func TestLabClockSkew(t *testing.T) {
	s := scenario(t, "clock skew between nodes", func(s *scene, o *Options) {
		o.Prepare = func(n *Node) error {
			if n.Name == Beta {
				n.Programs = skewedPrograms(s.t)
				setClock(n, 45*time.Minute)
			}
			if n.Name == Desk {
				n.Programs = skewedPrograms(s.t)
				setClock(n, -4*time.Minute)
			}
			return nil
		}
	})
	shop, stock := s.asks("alice", "shop"), s.asks("bob", "stock")
	s.Sources.Edits++
	s.must(s.Publish(s.ctx))
	s.must(s.AwaitPublished(s.ctx))
	s.awaitAnswered(stock)
	s.unharmed(stock, "bob, 4 min behind, asking the stock, 45 min ahead")
	s.saw(0, "beta 45 min ahead, bob's desk 4 min behind: he is answered, and a publish reaches both")
	for _, wrong := range []struct {
		name  string
		ahead time.Duration
	}{{"100 days ahead", 100 * 24 * time.Hour}, {"2 days behind", -48 * time.Hour}} {
		s.clockWrong(wrong.name, wrong.ahead)
	}
	s.unharmed(shop, "alice asking the shop")
	s.saw(0, "alice without the shop on alpha, whose clock is right")
}

// clockWrong boots beta with a clock that is beyond what certificates forgive,
// and then with the right one.
func (s *scene) clockWrong(name string, ahead time.Duration) {
	beta := s.Nodes[Beta]
	s.must(beta.Stop())
	setClock(beta, ahead)
	s.must(beta.Start())
	status, err := beta.Await(s.ctx, "unwell", func(d control.StatusDoc) bool { return len(d.Health) > 0 && len(d.Workloads) > 0 })
	s.must(err)
	ask, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	began := time.Now()
	if _, err = s.As("alice").Dial(ask, "stock"); err == nil {
		s.t.Errorf("a node that is %s serves with certificates that are not valid for it", name)
	}
	s.saw(time.Since(began), "beta %s: until alice is refused the stock (%s)", name, brief(err))
	s.saw(0, "flor agent status there: %s", status.Health[0])
	s.must(beta.Stop())
	setClock(beta, 0)
	s.must(beta.Start())
	began = time.Now()
	stock := s.asks("alice", "stock")
	s.awaitAnswered(stock)
	s.saw(time.Since(began), "beta's clock right again: until alice is answered by the stock")
	stock.Stop()
	s.must(s.AwaitPublished(s.ctx))
}
