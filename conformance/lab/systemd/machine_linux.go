package systemd

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed machine.sh
var machineScript string

// program is what becomes process 1.
const program = "/usr/lib/systemd/systemd"

// without is what a machine may not do: what it would do to the kernel, and so to
// the host.
const without = "-audit_control,-audit_read,-audit_write,-block_suspend,-linux_immutable,-mac_admin,-mac_override,-mknod," +
	"-sys_boot,-sys_module,-sys_rawio,-sys_time,-syslog,-wake_alarm"

// bootTimeout bounds the time in which systemd is up.
const bootTimeout = 60 * time.Second

// Unavailable says why no machine can be made here; nil when one can. What the
// kernel forbids, it says so.
func Unavailable() error { return unavailable() }

var unavailable = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return errors.New("a machine with systemd needs root")
	}
	for _, tool := range []string{program, "ip", "nsenter", "pivot_root", "setpriv", "systemctl", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("a machine with systemd needs %s: %w", tool, err)
		}
	}
	m, err := start(Options{Shared: "/"}, "true")
	if err != nil {
		return fmt.Errorf("the kernel forbids a machine with systemd here: %w", err)
	}
	if <-m.ended; m.how != nil {
		err = fmt.Errorf("the kernel forbids a machine with systemd here: %w: %s", m.how, m.Console())
	}
	return errors.Join(err, m.cleanUp())
})

// SharedDir is where a machine has Options.Shared.
const SharedDir = "/opt/shared"

// Options say how a machine is made.
type Options struct {
	// Shared is a directory of the host that the machine sees, read-only, as
	// SharedDir.
	Shared string
}

// Machine is a machine that runs. Its methods may be called by any goroutine, but
// Close, which comes last.
type Machine struct {
	init  *exec.Cmd
	ended chan struct{} // closed when init has ended
	how   error         // it ended; not to be read before
	dir   string        // of the host: a mount point, and the console
	group string        // the cgroup in which all of the machine is
}

// Boot makes a machine and returns when its systemd is up. The machine does not
// outlive the calling process.
func Boot(ctx context.Context, o Options) (*Machine, error) {
	if err := Unavailable(); err != nil {
		return nil, err
	}
	m, err := start(o, program, "--unit=multi-user.target", "--log-target=console", "--show-status=no")
	if err != nil {
		return nil, err
	}
	if err := m.await(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w; its console: %s", err, m.Console()), m.Close())
	}
	return m, nil
}

// start has a command become process 1 of a new machine.
func start(o Options, command ...string) (*Machine, error) {
	dir, err := os.MkdirTemp("", "machine")
	if err != nil {
		return nil, err
	}
	m := &Machine{dir: dir, ended: make(chan struct{})}
	if m.group, err = newGroup(); err != nil {
		return nil, errors.Join(err, m.cleanUp())
	}
	if err := m.spawn(o, command); err != nil {
		return nil, errors.Join(err, m.cleanUp())
	}
	return m, nil
}

func (m *Machine) spawn(o Options, command []string) error {
	files := filepath.Join(m.dir, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return err
	}
	console, err := os.Create(m.console())
	if err != nil {
		return err
	}
	defer console.Close()
	group, err := os.Open(m.group)
	if err != nil {
		return err
	}
	defer group.Close()
	// The root of a cgroup namespace is the group of who makes it: so it is made
	// by the process that was born in the group.
	m.init = exec.Command("unshare", append([]string{"--cgroup", "sh", "-c", machineScript, "sh", files, o.Shared, without}, command...)...)
	m.init.Env = append(environment(), "container=other") // as systemd asks for: it then leaves the kernel alone
	m.init.Stdout, m.init.Stderr = console, console
	m.init.SysProcAttr = &syscall.SysProcAttr{
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
		UseCgroupFD: true,
		CgroupFD:    int(group.Fd()),
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	if err := m.init.Start(); err != nil {
		return err
	}
	go func() {
		m.how = m.init.Wait()
		close(m.ended)
	}()
	return nil
}

// environment is that of a machine's commands; it has nothing of the host's.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb"}
}

func (m *Machine) console() string { return filepath.Join(m.dir, "console") }

// Console is what process 1 has printed.
func (m *Machine) Console() string {
	text, err := os.ReadFile(m.console())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// await waits until systemd says that it is up.
func (m *Machine) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		state, err := m.state(ctx)
		if err != nil || state == "running" {
			return err
		}
		select {
		case <-m.ended:
			return fmt.Errorf("the machine does not boot: %w", m.how)
		case <-ctx.Done():
			return fmt.Errorf("systemd says %q: %w", state, ctx.Err())
		case <-look.C:
		}
	}
}

// state is what systemd says of itself, "" while there is none. Before there is
// one, a question would go to the systemd of the host.
func (m *Machine) state(ctx context.Context) (string, error) {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", m.init.Process.Pid))
	if err != nil || string(name) != filepath.Base(program)+"\n" {
		return "", nil
	}
	out, err := m.Command(ctx, "systemctl", "is-system-running").Output()
	if _, notYet := errors.AsType[*exec.ExitError](err); err != nil && !notYet {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

// Command is a command that runs in the machine, as root, when it is started.
func (m *Machine) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target", fmt.Sprint(m.init.Process.Pid), "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup",
		"--", "setpriv", "--bounding-set=" + without, "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = environment()
	return cmd
}

// Shell runs lines of a shell in the machine and returns what they print, on both
// outputs. The first that fails is the last.
func (m *Machine) Shell(ctx context.Context, lines string) (string, error) {
	cmd := m.Command(ctx, "sh", "-eu", "-c", lines)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err
}

// Close ends the machine, all of it at once, and removes what it was made of.
func (m *Machine) Close() error {
	err := m.init.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-m.ended
	return errors.Join(err, m.cleanUp())
}

func (m *Machine) cleanUp() error { return errors.Join(removeGroup(m.group), os.RemoveAll(m.dir)) }

// newGroup makes a cgroup below that of this process.
func newGroup() (string, error) {
	own, err := ownGroup()
	if err != nil {
		return "", err
	}
	var errs []error
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(mount, own)
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
			errs = append(errs, err)
			continue
		}
		group, err := os.MkdirTemp(dir, "flor-machine-")
		if err != nil {
			return "", err
		}
		return group, os.Chmod(group, 0o755) // it is the root of what the machine's users see
	}
	return "", fmt.Errorf("no cgroup v2 is mounted: %w", errors.Join(errs...))
}

func ownGroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if own, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			return own, nil
		}
	}
	return "", errors.New("this process has no cgroup v2")
}

// removeGroup removes a cgroup and those below it, when nothing runs in them.
func removeGroup(group string) error {
	if group == "" {
		return nil
	}
	entries, err := os.ReadDir(group)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeGroup(filepath.Join(group, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(group); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
