package supervise

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// lingerLimit is how long the end of a process group is waited for after its
// SIGKILL; what the kernel cannot end by then is reported and left.
const lingerLimit = time.Second

// process is one spawned child, leader of its own process group.
type process struct {
	pid int

	mu     sync.Mutex
	reaped bool
	proc   *os.Process

	// lineage ends what the process has left outside of its group; name,
	// marker and cgroup are by what that is found.
	lineage *lineage
	name    string
	marker  string
	cgroup  *cgroup

	// life ends when the process is reaped and what it left has ended.
	life context.Context
	end  context.CancelFunc
}

// startProcess spawns a child with exactly the environment of its spec, the
// null device, its sink, and no other descriptor (SUP-1, SUP-2).
func startProcess(s *Spec, l *lineage) (*process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	out, release, err := openOut(s, null)
	if err != nil {
		return nil, err
	}
	defer release()
	closeOnExec()
	proc, group, err := l.start(s, func(attr *syscall.SysProcAttr) (*os.Process, error) {
		return os.StartProcess(s.Path, append([]string{s.Path}, s.Args...), &os.ProcAttr{
			Dir:   s.Dir,
			Env:   append([]string{}, s.Env...),
			Files: []*os.File{null, out, out},
			Sys:   attr,
		})
	})
	if err != nil {
		return nil, refuse("FL2305", "spawn-failed", "start %s: %w", s.Name, err)
	}
	p := &process{pid: proc.Pid, proc: proc, lineage: l, name: s.Name, marker: s.Marker, cgroup: group}
	p.life, p.end = context.WithCancel(context.Background())
	return p, nil
}

// sinkError is an OpenOut that failed.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return fmt.Sprintf("open the log sink: %v", e.err) }
func (e *sinkError) Unwrap() error { return e.err }

func openOut(s *Spec, null *os.File) (out *os.File, release func(), err error) {
	switch {
	case s.OpenOut != nil:
		if out, err = s.OpenOut(); err != nil {
			return nil, nil, &sinkError{err}
		}
		return out, func() { out.Close() }, nil
	case s.Out != nil:
		return s.Out, func() {}, nil
	default:
		return null, func() {}, nil
	}
}

// wait waits for the end of the process, ends what it left and its group while
// the group's number is still its own, and reaps it (SUP-5). What left the group
// comes first, because its descent from the group proves whose it is. It is
// called once.
func (p *process) wait() (*os.ProcessState, error) {
	defer p.end()
	awaitExit(p.pid)
	p.lineage.endLeft(p)
	p.kill()
	state, err := p.reap()
	p.lineage.reaped(p.pid, p.marker)
	p.awaitGroup()
	return state, err
}

func (p *process) reap() (*os.ProcessState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	return p.proc.Wait()
}

// terminate asks the main process to drain and exit (SUP-4).
func (p *process) terminate() { _ = p.signal(syscall.SIGTERM) }

// kill ends the whole group. It does nothing once the leader is reaped: the
// number of the group may then be somebody else's.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
}

func (p *process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return p.proc.Signal(sig)
}

// awaitGroup waits until no member of the killed group runs, so that the
// next process finds its ports free.
func (p *process) awaitGroup() {
	deadline := time.Now().Add(lingerLimit)
	for pause := time.Millisecond; groupLives(p.pid) && time.Now().Before(deadline); pause = longer(pause) {
		time.Sleep(pause)
	}
}

// markListed marks the descriptors above 2 that a directory lists.
func markListed(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
