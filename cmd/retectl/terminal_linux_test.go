package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patient is how long a test waits for what must come.
const patient = time.Minute

// terminal is a pseudoterminal, seen from the side of the person.
type terminal struct {
	t      *testing.T
	person *os.File
	device *os.File
	shown  bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudoterminals here: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	number := unlocked(t, person)
	device, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudoterminals here: %v", err)
	}
	t.Cleanup(func() { device.Close() })
	return &terminal{t: t, person: person, device: device}
}

// unlocked opens the other side of a pseudoterminal, and gives its number. Unlike
// Fd it leaves the file one that has deadlines.
func unlocked(t *testing.T, person *os.File) (number int) {
	t.Helper()
	raw, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return number
}

// start runs retectl with the terminal as its own, from the keyboard to both
// outputs.
func (m *terminal) start(dir string, env []string, args ...string) *exec.Cmd {
	m.t.Helper()
	cmd := exec.Command("retectl", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "RETECTL_HOME="+dir+"/keys", "RETECTL_PASSPHRASE=", "NO_COLOR=", "TERM=xterm"), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = m.device, m.device, m.device
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// await reads what is shown until it contains text.
func (m *terminal) await(text string) {
	m.t.Helper()
	if err := m.person.SetReadDeadline(time.Now().Add(patient)); err != nil {
		m.t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	for !strings.Contains(m.shown.String(), text) {
		n, err := m.person.Read(buffer)
		if err != nil {
			m.t.Fatalf("waiting for %q: %v; shown was %q", text, err, m.shown.String())
		}
		m.shown.Write(buffer[:n])
	}
}

func (m *terminal) echoes() bool {
	m.t.Helper()
	state, err := unix.IoctlGetTermios(int(m.device.Fd()), unix.TCGETS)
	if err != nil {
		m.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// awaitSilence waits until what is typed is not shown any more.
func (m *terminal) awaitSilence() {
	m.t.Helper()
	for deadline := time.Now().Add(patient); m.echoes(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatal("what is typed is shown")
		}
	}
}

// PKI-2: a passphrase is asked for where there is a terminal, and not shown.
func TestAPassphraseIsAskedForAndNotShown(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	dir := t.TempDir()
	cmd := m.start(dir, nil, "init", "demo")
	for _, prompt := range []string{"New passphrase: ", "Again: "} {
		m.await(prompt)
		m.awaitSilence()
		fmt.Fprint(m.person, "correct horse\n")
	}
	m.await("then retectl validate, compile, publish")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; shown was %q", err, m.shown.String())
	}
	if strings.Contains(m.shown.String(), "horse") || !m.echoes() {
		t.Errorf("echo %t, shown was %q", m.echoes(), m.shown.String())
	}
	if _, err := os.Stat(dir + "/keys/demo/ca.jwe"); err != nil {
		t.Error(err)
	}
}

// Ctrl-C at the question for a passphrase ends the command, and the terminal
// shows again what is typed.
func TestCtrlCAtAPromptEndsTheCommand(t *testing.T) {
	t.Parallel()
	m := newTerminal(t)
	dir := t.TempDir()
	cmd := m.start(dir, nil, "init", "demo")
	m.await("New passphrase: ")
	m.awaitSilence()
	fmt.Fprint(m.person, "\x03")
	m.await("retectl: interrupted; nothing is left half done: run the same command again")
	var failed *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &failed) || failed.ExitCode() != exitCould {
		t.Errorf("exit %v", err)
	}
	if !m.echoes() {
		t.Error("what is typed is not shown")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

// Findings are coloured on a terminal that knows colours, unless the user has
// said otherwise.
func TestColourIsForTerminalsOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/rete.yaml", []byte("rete: {nam: demo}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		env  []string
		want bool
	}{
		"a terminal":           {nil, true},
		"NO_COLOR":             {[]string{"NO_COLOR=1"}, false},
		"one without controls": {[]string{"TERM=dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTerminal(t)
			cmd := m.start(dir, tt.env, "validate")
			m.await("0 warnings")
			_ = cmd.Wait() // it found faults
			if got := strings.Contains(m.shown.String(), "\x1b["); got != tt.want {
				t.Errorf("coloured %t, want %t: %q", got, tt.want, m.shown.String())
			}
		})
	}
}
