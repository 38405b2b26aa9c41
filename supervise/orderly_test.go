package supervise_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/florete/flor/supervise"
)

// What changes a whole process is tested in a process of its own: this test
// binary, as a supervisor that takes orders on standard input and tells how its
// children are on standard output.

const orderlyEnv = "SUPERVISE_TEST_ORDERLY"

// orders are one line of the input: the whole list, or commands to run beside
// it.
type orders struct {
	Specs  []ordered
	Beside []beside
}

// ordered is what a test says of a spec.
type ordered struct {
	Name, Script, Marker string
	Env                  []string
	// Sink, if not empty, is opened for each process.
	Sink string
}

func (o ordered) spec() supervise.Spec {
	spec := sh(o.Name, o.Script)
	spec.Env, spec.Marker = append(spec.Env, o.Env...), o.Marker
	if o.Sink != "" {
		spec.OpenOut = func() (*os.File, error) { return os.OpenFile(o.Sink, os.O_WRONLY, 0) }
	}
	return spec
}

// beside is what a test says of a command to run beside the list.
type beside struct {
	Script, Marker string
	Env            []string
}

// spec has the marker in the environment, and a name of its own.
func (b beside) spec(n int) supervise.Spec {
	spec := sh("command "+strconv.Itoa(n), b.Script)
	spec.Env, spec.Marker = append(spec.Env, b.Env...), b.Marker
	if b.Marker != "" {
		spec.Env = append(spec.Env, b.Marker)
	}
	return spec
}

// news are one line of the output.
type news struct {
	Children []supervise.Status
	Strays   []supervise.Stray
	// Codes are the exit codes of what ran beside, in the order of their ends.
	Codes []int
}

type orderlySetup struct {
	RunDir            string
	Subreaper, Cgroup bool
}

// superviseByOrders is the whole program. It ends when its input does.
func superviseByOrders() {
	var setup orderlySetup
	if err := json.Unmarshal([]byte(os.Getenv(orderlyEnv)), &setup); err != nil {
		panic(err)
	}
	s := supervise.New(supervise.Options{
		RunDir: setup.RunDir, Subreaper: setup.Subreaper, Cgroup: setup.Cgroup,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	told := &teller{s: s, out: json.NewEncoder(os.Stdout)}
	parts.Go(func() {
		for range s.Watch(context.Background()) {
			told.tell(nil)
		}
	})
	parts.Go(func() {
		if err := s.Run(ctx); err != nil {
			panic(err)
		}
	})
	obey(s, told)
	cancel()
	parts.Wait()
	os.Exit(0)
}

func obey(s *supervise.Supervisor, told *teller) {
	var besides sync.WaitGroup
	defer besides.Wait()
	in := json.NewDecoder(os.Stdin)
	for {
		var o orders
		if in.Decode(&o) != nil {
			return
		}
		if o.Specs != nil {
			var specs []supervise.Spec
			for _, each := range o.Specs {
				specs = append(specs, each.spec())
			}
			if err := s.Apply(context.Background(), specs); err != nil {
				panic(err)
			}
		}
		for n, b := range o.Beside {
			besides.Go(func() {
				state, err := s.RunBeside(context.Background(), b.spec(n))
				if err != nil {
					panic(err)
				}
				code := state.ExitCode()
				told.tell(&code)
			})
		}
	}
}

// teller writes news, one at a time.
type teller struct {
	s     *supervise.Supervisor
	mu    sync.Mutex
	codes []int
	out   *json.Encoder
}

func (t *teller) tell(code *int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if code != nil {
		t.codes = append(t.codes, *code)
	}
	_ = t.out.Encode(news{t.s.Status(), t.s.Strays(), t.codes})
}

// orderly is such a process.
type orderly struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	news chan news
	last news
	log  strings.Builder
}

// startOrderly starts a supervisor that ends with the test. attr says how the
// process begins.
func startOrderly(t *testing.T, setup orderlySetup, attr *syscall.SysProcAttr) *orderly {
	t.Helper()
	text, err := json.Marshal(setup)
	if err != nil {
		t.Fatal(err)
	}
	o := &orderly{t: t, cmd: exec.Command(os.Args[0]), news: make(chan news, 100)}
	o.cmd.Env = append(os.Environ(), orderlyEnv+"="+string(text))
	o.cmd.Stderr = &o.log
	o.cmd.SysProcAttr = attr
	o.start()
	return o
}

func (o *orderly) start() {
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		o.t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		o.t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(o.news)
		o.read(out)
	}()
	o.t.Cleanup(func() {
		o.in.Close()
		for range o.news { // to the end of the process
		}
		<-read
		_ = o.cmd.Wait()
		if o.t.Failed() {
			o.t.Logf("its log:\n%s", o.log.String())
		}
	})
}

func (o *orderly) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var n news
		if json.Unmarshal(lines.Bytes(), &n) == nil {
			o.news <- n
		}
	}
}

func (o *orderly) order(orders orders) {
	o.t.Helper()
	if err := json.NewEncoder(o.in).Encode(orders); err != nil {
		o.t.Fatal(err)
	}
}

// await waits for news that are as wanted.
func (o *orderly) await(what string, wanted func(news) bool) news {
	o.t.Helper()
	timeout := time.After(patience)
	for !wanted(o.last) {
		select {
		case n, ok := <-o.news:
			if !ok {
				o.t.Fatalf("it ended before: %s\nlast: %+v", what, o.last)
			}
			o.last = n
		case <-timeout:
			o.t.Fatalf("never: %s\nlast: %+v", what, o.last)
		}
	}
	return o.last
}

func childIs(name string, state supervise.State) func(news) bool {
	return func(n news) bool {
		return slices.ContainsFunc(n.Children, func(st supervise.Status) bool { return st.Name == name && st.State == state })
	}
}

// marked is a child that runs a script, with a marker of its own in its
// environment and D for a directory.
func marked(name, dir, script string) ordered {
	marker := "TEST_STATE_DIR=" + filepath.Join(dir, name)
	return ordered{Name: name, Script: script, Marker: marker, Env: []string{marker, "D=" + dir}}
}

// carriers are the living processes that have an entry in their environment.
func carriers(t *testing.T, entry string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if slices.Contains(strings.Split(string(text), "\x00"), entry) {
			found = append(found, mustAtoi(t, filepath.Base(filepath.Dir(file))))
		}
	}
	return found
}

// endCarriers is for what a failing test leaves.
func endCarriers(t *testing.T, entry string) {
	for _, pid := range carriers(t, entry) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// awaitCarriers waits until as many processes as wanted have an entry in their
// environment.
func awaitCarriers(t *testing.T, entry string, want int) []int {
	t.Helper()
	var found []int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if found = carriers(t, entry); len(found) == want {
			return found
		}
	}
	t.Fatalf("%d processes have %s, want %d", len(found), entry, want)
	return nil
}
