package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fakeSystemd stands for systemd where none runs: it records what it is told,
// and starts and stops what the unit says, each a real process. Its state lies
// in the directory that FAKE_SYSTEMD names; without one it says what systemctl
// says where systemd is not process 1. What real systemd makes of the same units
// and commands, internal/service tests.
type fakeSystemd struct{ dir string }

const (
	fakeTemplate = "flor-agent@.service"
	fakeWait     = 20 * time.Second
)

func fakeSystemctl() { os.Exit(newFakeSystemd().run(os.Args[1:])) }

// fakeTool is systemd-sysusers and systemd-tmpfiles: it records the call.
func fakeTool() {
	f := newFakeSystemd()
	if f.dir == "" {
		os.Exit(1)
	}
	f.record(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...))
	os.Exit(0)
}

func newFakeSystemd() *fakeSystemd { return &fakeSystemd{dir: os.Getenv("FAKE_SYSTEMD")} }

func (f *fakeSystemd) run(args []string) int {
	if f.dir == "" {
		fmt.Println("offline")
		fmt.Fprintln(os.Stderr, "System has not been booted with systemd as init system (PID 1). Can't operate.")
		return 1
	}
	f.record(append([]string{"systemctl"}, args...))
	args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "--") && a != "--now" })
	now := slices.Contains(args, "--now")
	args = slices.DeleteFunc(args, func(a string) bool { return a == "--now" })
	operand := args[len(args)-1]
	if err := f.do(args[0], operand, scopeOfUnit(operand), now); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (f *fakeSystemd) record(call []string) {
	log, err := os.OpenFile(filepath.Join(f.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer log.Close()
	fmt.Fprintln(log, strings.Join(call, " "))
}

func scopeOfUnit(unit string) string {
	return strings.TrimSuffix(strings.TrimPrefix(unit, "flor-agent@"), ".service")
}

func (f *fakeSystemd) do(verb, operand, scope string, now bool) error {
	switch verb {
	case "is-system-running":
		fmt.Println("running")
	case "daemon-reload":
	case "link":
		return f.link(operand)
	case "enable":
		return errors.Join(os.WriteFile(f.file(scope, "enabled"), nil, 0o644), f.startNow(scope, now))
	case "disable":
		return f.disable(operand, scope, now)
	case "start":
		return f.start(scope)
	case "stop":
		return f.stop(scope)
	case "show":
		f.show(scope)
	case "list-units":
		f.list("pid", "loaded active running Florete agent")
	case "list-unit-files":
		f.list("enabled", "enabled enabled")
	default:
		return fmt.Errorf("Unknown command verb %s.", verb)
	}
	return nil
}

func (f *fakeSystemd) file(scope, kind string) string { return filepath.Join(f.dir, scope+"."+kind) }

// link remembers a template that lies where systemd does not look itself.
func (f *fakeSystemd) link(path string) error {
	if filepath.Dir(path) == os.Getenv("FAKE_UNIT_PATH") {
		return nil
	}
	return os.WriteFile(f.file("template", "link"), []byte(path), 0o644)
}

func (f *fakeSystemd) template() string {
	if link, err := os.ReadFile(f.file("template", "link")); err == nil {
		return string(link)
	}
	return filepath.Join(os.Getenv("FAKE_UNIT_PATH"), fakeTemplate)
}

func (f *fakeSystemd) startNow(scope string, now bool) error {
	if !now {
		return nil
	}
	return f.start(scope)
}

func (f *fakeSystemd) disable(unit, scope string, now bool) error {
	if unit == fakeTemplate {
		return ignoreAbsent(os.Remove(f.file("template", "link")))
	}
	err := ignoreAbsent(os.Remove(f.file(scope, "enabled")))
	if now {
		err = errors.Join(err, f.stop(scope))
	}
	return err
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// start runs what the unit says, in an environment that has nothing of the
// caller's but PATH.
func (f *fakeSystemd) start(scope string) error {
	if f.pid(scope) != 0 {
		return nil
	}
	unit, err := os.ReadFile(f.template())
	if err != nil {
		return fmt.Errorf("Unit flor-agent@%s.service not found.", scope)
	}
	out, err := os.OpenFile(f.file(scope, "out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	command, environment := readUnit(string(unit), scope)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(environment, "PATH="+os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(f.file(scope, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644)
}

func readUnit(unit, scope string) (command, environment []string) {
	for line := range strings.Lines(unit) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.ReplaceAll(strings.ReplaceAll(value, "%i", scope), `"`, "")
		switch key {
		case "ExecStart":
			command = strings.Fields(value)
		case "Environment":
			environment = append(environment, value)
		}
	}
	return command, environment
}

// stop ends the process as KillMode=mixed does for one that goes by itself.
func (f *fakeSystemd) stop(scope string) error {
	pid := f.pid(scope)
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for deadline := time.Now().Add(fakeWait); lives(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not end", pid)
		}
	}
	return os.Remove(f.file(scope, "pid"))
}

func (f *fakeSystemd) pid(scope string) int {
	text, err := os.ReadFile(f.file(scope, "pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil || !lives(pid) {
		return 0
	}
	return pid
}

// lives tells whether a process runs; one that nobody has waited for does not.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err != nil || !bytes.HasPrefix(state, []byte("Z"))
}

func (f *fakeSystemd) show(scope string) {
	state, pid := "inactive", f.pid(scope)
	if pid != 0 {
		state = "active"
	}
	fmt.Printf("MainPID=%d\nResult=success\nActiveState=%s\nFragmentPath=%s\n", pid, state, f.template())
}

func (f *fakeSystemd) list(kind, rest string) {
	files, _ := filepath.Glob(f.file("*", kind))
	for _, file := range files {
		scope := strings.TrimSuffix(filepath.Base(file), "."+kind)
		if kind != "pid" || f.pid(scope) != 0 {
			fmt.Println("flor-agent@" + scope + ".service " + rest)
		}
	}
}
