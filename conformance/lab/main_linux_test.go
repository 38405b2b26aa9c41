package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/florete/flor/conformance/lab/netns"
	"github.com/florete/flor/conformance/lab/traffic"
)

// results is the table of all scenarios, printed when all have ended.
var results table

var built struct {
	once     sync.Once
	dir      string
	programs Programs
	err      error
}

func TestMain(m *testing.M) {
	code := m.Run()
	results.print(os.Stdout)
	if err := os.RemoveAll(built.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// programs builds the programs once for all scenarios.
func programs(t *testing.T) Programs {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "lab-bin"); built.err == nil {
			built.programs, built.err = Build(context.Background(), built.dir)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.programs
}

// scene is one scenario on a rete of its own.
type scene struct {
	*Network
	t    *testing.T
	ctx  context.Context
	name string

	mounted []string // directories
}

// scenario raises and starts a rete; it is closed, and its directory removed
// unless the test failed, when the test ends.
func scenario(t *testing.T, name string, change ...func(*scene, *Options)) *scene {
	t.Helper()
	if err := netns.Unavailable(); err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("-short: a scenario builds four programs and raises a rete of five nodes")
	}
	t.Parallel()
	s := &scene{t: t, name: name, ctx: t.Context()}
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end(dir) })
	o := Options{Programs: programs(t), Dir: dir}
	for _, c := range change {
		c(s, &o)
	}
	s.Network, err = Raise(s.ctx, o)
	s.must(err)
	s.must(s.Start(s.ctx))
	return s
}

func (s *scene) end(dir string) {
	if err := s.Close(); err != nil {
		s.t.Error(err)
	}
	for _, dir := range s.mounted {
		if err := unix.Unmount(dir, 0); err != nil {
			s.t.Errorf("unmount %s: %v", dir, err)
		}
	}
	if s.t.Failed() {
		s.t.Logf("all logs are below %s", dir)
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		s.t.Error(err)
	}
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// saw enters a line into the table.
func (s *scene) saw(lasted time.Duration, format string, args ...any) {
	row := saw{s.name, fmt.Sprintf(format, args...), lasted}
	s.t.Logf("%s: %s", row.what, span(row.lasted))
	results.add(row)
}

// took runs f and tells how long it took.
func (s *scene) took(f func() error) time.Duration {
	s.t.Helper()
	began := time.Now()
	s.must(f())
	return time.Since(began)
}

// asks watches a user ask a service over and over.
func (s *scene) asks(user, service string) *traffic.Watch {
	client := s.As(user)
	return traffic.StartWatch(s.ctx, func(ctx context.Context) error {
		if service == "stock" {
			_, err := traffic.AskStock(ctx, client, "lamp")
			return err
		}
		_, err := client.Get(ctx, service, "/hello")
		return err
	})
}

// awaitAnswered waits until a watch has had further answers.
func (s *scene) awaitAnswered(w *traffic.Watch) {
	s.t.Helper()
	have := w.Seen().Answered
	for began := time.Now(); w.Seen().Answered < have+3; {
		if time.Since(began) > stateTimeout {
			s.t.Fatalf("no answer for %v: %v", stateTimeout, w.Seen().Fault)
		}
		s.pause(10 * time.Millisecond)
	}
}

// pause is how long an outage lasts, not a wait for something to happen.
func (s *scene) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

// unharmed ends a watch and asserts that every question was answered.
func (s *scene) unharmed(w *traffic.Watch, who string) traffic.Seen {
	s.t.Helper()
	seen := w.Stop()
	if seen.Answered < seen.Asked || seen.Answered == 0 {
		s.t.Errorf("%s: %d of %d questions were answered, last fault: %v", who, seen.Answered, seen.Asked, seen.Fault)
	}
	return seen
}

// download starts a transfer of a user and waits for its first bytes.
func (s *scene) download(user string) *traffic.Download {
	s.t.Helper()
	d := traffic.StartDownload(s.ctx, s.As(user))
	select {
	case <-d.Started():
	case <-d.Done():
		s.t.Fatalf("the download of %s did not start: %v", user, d.Err())
	}
	return d
}

// whole lets the shop finish a download and asserts that every byte came.
func (s *scene) whole(d *traffic.Download) {
	s.t.Helper()
	s.Shop.FinishDownloads()
	<-d.Done()
	if d.Err() != nil {
		s.t.Errorf("a download that should have run through ended with %v after %d bytes", d.Err(), d.Bytes())
	}
}

// broken waits for the end of a download that must not end as if complete.
func (s *scene) broken(d *traffic.Download) {
	s.t.Helper()
	select {
	case <-d.Done():
		if d.Err() == nil {
			s.t.Error("a download that was cut ended as if it were complete")
		}
	case <-time.After(stateTimeout):
		s.t.Fatalf("a download that was cut still runs after %v", stateTimeout)
	}
}

// refused asserts that a command ended with an exit code, and returns its words.
func (s *scene) refused(err error, code int) []string {
	s.t.Helper()
	var failed *CommandError
	if !errors.As(err, &failed) || failed.Code != code || len(failed.Stderr) == 0 {
		s.t.Fatalf("the command ended with %v, want exit code %d and words", err, code)
	}
	return failed.Stderr
}
