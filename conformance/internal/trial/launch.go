package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Launch says how a program is started, where [T.Start] is not enough.
type Launch struct {
	Argv, Env []string
	Dir       string   // the working directory; ours where it is empty
	Log       *os.File // fds 1 and 2; nil: a file, whose end stands behind a failure
}

// Launch starts a program as the leader of a process group, with fd 0 null and no
// other descriptors than 0, 1 and 2 (SUP-2). When the case has ended, whatever is
// left of the group is killed.
func (t *T) Launch(l Launch) *Process {
	if len(l.Argv) == 0 {
		t.Fatalf("there is no program to check: give its command line")
	}
	p := &Process{t: t, said: filepath.Join(t.Dir(), "said"), done: make(chan struct{})}
	log := l.Log
	if log == nil {
		file, err := os.OpenFile(p.said, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		t.Check(err, "make a file for what the program says")
		defer file.Close()
		log = file
		t.Note(p.lastWords)
	}
	p.cmd = exec.Command(l.Argv[0], l.Argv[1:]...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = l.Env, l.Dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("it cannot be started: %w; give the command line of an executable, by its path or by a name along PATH", unstarted(p.cmd.Path, err))
	}
	t.launched = time.Now()
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL) // that nobody is left is no error
		<-p.done
	})
	return p
}

// unstarted says of a file what the system calls a permission.
func unstarted(path string, err error) error {
	info, failed := os.Stat(path)
	switch {
	case failed != nil || !errors.Is(err, fs.ErrPermission):
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable, its mode is %v", path, info.Mode())
	}
	return err
}

// Ending is how a process ended.
type Ending struct {
	Code   int            // -1 where it was a signal
	Signal syscall.Signal // 0 where it exited
}

func (e Ending) String() string {
	if e.Signal == 0 {
		return fmt.Sprintf("exit %d", e.Code)
	}
	names := map[syscall.Signal]string{
		syscall.SIGTERM: "SIGTERM", syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE",
		syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT",
	}
	if name, ok := names[e.Signal]; ok {
		return name
	}
	return e.Signal.String()
}

// Unasked says what to do about a program that ended in this way before it served,
// and before it was told to stop.
func (e Ending) Unasked() string {
	switch e.Code {
	case 0:
		return "it ended with exit 0 without having been told to stop, which is a crash: whoever supervises it would start it again and again; serve until SIGTERM, in the foreground, also when standard input, which is the null device, is at its end"
	case 78:
		return "it refused with exit 78 what it was started on, which is good: serve it until SIGTERM"
	case 69:
		return "exit 69 says that a host service does not answer: have it answer while the suite runs"
	}
	return "it crashed with " + e.String() + " on what is good, in an environment that is good: serve until SIGTERM"
}

// EndsIn waits for the process to end, for a limited time, and tells whether it
// has.
func (p *Process) EndsIn(limit time.Duration) (Ending, bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.Ending(), true
	case <-timer.C:
	case <-p.t.ctx.Done():
	}
	return Ending{}, false
}

// Ending is how the process ended. It waits for its end.
func (p *Process) Ending() Ending {
	<-p.done
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return Ending{Code: -1, Signal: status.Signal()}
	}
	return Ending{Code: status.ExitStatus()}
}

// hosts counts what Host returned in this process.
var hosts atomic.Uint32

// Host is a loopback address that no other run of a case has, where there is more
// than one. On Linux all of 127.0.0.0/8 is loopback: a port of such an address
// that is free now is not taken in a moment by another case, nor by an outgoing
// connection, whose address is 127.0.0.1.
func (t *T) Host() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	n := uint32(os.Getpid())*1009 + hosts.Add(1)
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16%254, n>>8%256, 1+n%254)
}

// Address is an address of a host whose port is free, for TCP and for UDP: for a
// program that has to be told where to listen.
func (t *T) Address(host string) string {
	const tries = 20
	for range tries {
		tcp, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		t.Check(err, "look for a free port")
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		_ = tcp.Close()
		if err == nil {
			_ = udp.Close()
			return tcp.Addr().String()
		}
	}
	t.Fatalf("no port of %s is free for TCP and UDP", host)
	return ""
}
