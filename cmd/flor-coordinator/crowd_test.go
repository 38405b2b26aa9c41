package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asCrowd makes the test's own binary a crowd of clients, in a process of its own
// because descriptors are counted for each; memoryFile tells the program where to
// write how much memory it has, when it gets SIGUSR2.
const (
	asCrowd    = "BE_A_CROWD"
	memoryFile = "MEMORY_FILE"
)

// event is what one client of a crowd has seen.
type event struct {
	Client int
	Status int // 0: the connection ended without an answer
	At     time.Time
}

// crowdMain opens count connections to address, sends request on each, with the
// client's number where it has a verb, says "ready", and tells what comes back.
func crowdMain(args []string) int {
	address, request := args[0], args[3]
	first, _ := strconv.Atoi(args[1])
	count, _ := strconv.Atoi(args[2])
	var clients sync.WaitGroup
	events := make(chan event, count)
	for n := first; n < first+count; n++ {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_, err = io.WriteString(conn, strings.ReplaceAll(request, "{n}", nodeName(n)))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		clients.Go(func() { events <- listen(conn, n) })
	}
	fmt.Println("ready")
	go func() {
		clients.Wait()
		close(events)
	}()
	out := json.NewEncoder(os.Stdout)
	for e := range events {
		if out.Encode(e) != nil {
			return 1
		}
	}
	return 0
}

func listen(conn net.Conn, n int) event {
	defer conn.Close()
	line := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, line); err != nil {
		return event{Client: n, At: time.Now()}
	}
	status, _ := strconv.Atoi(string(line[len("HTTP/1.1 "):]))
	return event{Client: n, Status: status, At: time.Now()}
}

func nodeName(n int) string { return fmt.Sprintf("n%05d", n) }

// crowd is the clients of a few processes.
type crowd struct {
	t         *testing.T
	events    chan event
	processes []*exec.Cmd
	reading   sync.WaitGroup
}

// gather brings count clients that send a request each, from a few processes, and
// returns when all of them have sent it.
func gather(t *testing.T, address string, count int, request string) *crowd {
	t.Helper()
	return gatherAt(t, here, address, 0, count, request)
}

// gatherAt is gather for a crowd that is somewhere else, and counted from begin on.
func gatherAt(t *testing.T, launch launcher, address string, begin, count int, request string) *crowd {
	t.Helper()
	const processes = 4
	c := &crowd{t: t, events: make(chan event, count)}
	t.Cleanup(c.disperse)
	var ready sync.WaitGroup
	for p := range processes {
		first, last := begin+p*count/processes, begin+(p+1)*count/processes
		cmd := exec.Command(os.Args[0], address, strconv.Itoa(first), strconv.Itoa(last-first), request)
		cmd.Env, cmd.Stderr = append(os.Environ(), asCrowd+"=1"), os.Stderr
		out, err := cmd.StdoutPipe()
		if err = errors.Join(err, launch(cmd)); err != nil {
			t.Fatal(err)
		}
		c.processes = append(c.processes, cmd)
		ready.Add(1)
		c.reading.Go(func() { c.follow(out, &ready) })
	}
	ready.Wait()
	return c
}

// disperse ends all processes of the crowd.
func (c *crowd) disperse() {
	for _, cmd := range c.processes {
		_ = cmd.Process.Kill()
	}
	c.reading.Wait()
	for _, cmd := range c.processes {
		_ = cmd.Wait()
	}
}

// follow reads what one process tells.
func (c *crowd) follow(out io.Reader, ready *sync.WaitGroup) {
	lines := bufio.NewScanner(out)
	lines.Scan()
	ready.Done()
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			c.t.Error(err)
			return
		}
		c.events <- e
	}
}

// answers waits for so many of them.
func (c *crowd) answers(count int) []event {
	c.t.Helper()
	limit := time.NewTimer(50 * time.Second) // less than a held answer's time
	defer limit.Stop()
	events := make([]event, 0, count)
	for len(events) < count {
		select {
		case e := <-c.events:
			events = append(events, e)
		case <-limit.C:
			c.t.Fatalf("%d of %d clients have been answered", len(events), count)
		}
	}
	return events
}

// last is when the last of them was answered.
func last(events []event) time.Time {
	var at time.Time
	for _, e := range events {
		if e.At.After(at) {
			at = e.At
		}
	}
	return at
}

// tellMemory writes what the process holds of the machine's memory, in bytes, to
// a file at each SIGUSR2, after everything that can be given back was.
func tellMemory(file string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	for range asked {
		debug.FreeOSMemory()
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(sample)
		held := sample[0].Value.Uint64() - sample[1].Value.Uint64()
		_ = os.WriteFile(file+".tmp", strconv.AppendUint(nil, held, 10), 0o600)
		_ = os.Rename(file+".tmp", file)
	}
}

// memory asks the running program how many bytes it holds.
func (r *running) memory() (held int) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		r.t.Fatal(err)
	}
	r.poll("report on memory", func(context.Context) bool {
		text, err := os.ReadFile(r.memoryFile())
		held, _ = strconv.Atoi(string(text))
		return err == nil
	})
	if err := os.Remove(r.memoryFile()); err != nil {
		r.t.Fatal(err)
	}
	return held
}

// enough skips where a process may not have the descriptors for so many clients.
func enough(t *testing.T, count int) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it takes thousands of connections")
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if int(limit.Max) < count+200 {
		t.Skipf("a process may have %d descriptors, %d clients need more", limit.Max, count)
	}
}

// manyNodes is a tree of count nodes at version 1, of which the first few have a
// version of their own.
func manyNodes(count, few int, version uint64) string {
	var text strings.Builder
	text.WriteString(`{"artifacts":[`)
	for n := range count {
		v := uint64(1)
		if n < few {
			v = version
		}
		if n > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"schema_version":"1.0","plane":"mgmt","version":%d,"node":%q,"name":"agent"}`, v, nodeName(n))
	}
	text.WriteString("]}")
	return text.String()
}

// most an idle watcher may cost beyond the kernel's socket (CRD-6).
const watcherLimit = 24 << 10

// CRD-6: ten thousand watches on one process. A publish that touches a hundred
// nodes wakes exactly those; SIGTERM answers all others; each costs little memory.
func TestTenThousandWatches(t *testing.T) {
	const clients, touched = 10_000, 100
	enough(t, clients)
	p := newPlace(t)
	r := p.start()
	r.publish(manyNodes(clients, 0, 1))
	before := r.memory()
	begun := time.Now()
	watchers := gather(t, p.listen.Sync, clients, "GET /artifact/mgmt/{n}?have=1&wait=60 HTTP/1.1\r\nHost: x\r\n\r\n")
	r.awaitHeld(clients)
	gathered := time.Since(begun)
	each := (r.memory() - before) / clients
	if each > watcherLimit && !raceDetector {
		t.Errorf("a watcher costs %d bytes, the limit is %d", each, watcherLimit)
	}

	if result := r.publish(manyNodes(clients, touched, 2)); len(result.Changed) != touched {
		t.Fatalf("%d nodes changed", len(result.Changed))
	}
	published := time.Now()
	woken := watchers.answers(touched)
	for _, e := range woken {
		if e.Status != http.StatusOK || e.Client >= touched {
			t.Errorf("client %d was answered with %d", e.Client, e.Status)
		}
	}
	r.awaitHeld(clients - touched)

	stopped := time.Now()
	if code, stderr := r.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	drained := watchers.answers(clients - touched)
	for _, e := range drained {
		if e.Status != http.StatusNotModified {
			t.Fatalf("client %d was answered with %d", e.Client, e.Status)
		}
	}
	// The contract says a second. A machine that does other things gets more: answers
	// are less work than the questions were, whose time tells how busy it is.
	if took := last(drained).Sub(stopped); took > max(5*time.Second, 2*gathered) {
		t.Errorf("the last watcher was answered %s after SIGTERM, and asked within %s", took, gathered)
	}
	t.Logf("%d watches in %s, %d bytes each; %d woken, the last %s after the publish's answer; %d drained, the last %s after SIGTERM",
		clients, gathered.Round(time.Millisecond), each, len(woken), last(woken).Sub(published).Round(time.Millisecond),
		len(drained), last(drained).Sub(stopped).Round(time.Millisecond))
}
