package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// roleVar makes the test binary play one of the processes of a test instead of
// running tests: a lock and a umask belong to a whole process.
const roleVar = "STORE_TEST_ROLE"

func TestMain(m *testing.M) {
	roles := map[string]func() error{"hold": holdLock, "enrol": enrolUnderUmask, "where": printExecutable}
	play, ok := roles[os.Getenv(roleVar)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// role is a process of a test that plays one role.
func role(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVar+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// holdLock holds the lock of the scope below os.Args[1] until its input ends.
func holdLock() error {
	if _, err := LockScope(os.Args[1], testScope); err != nil {
		return err
	}
	fmt.Println("held")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// printExecutable prints where this process believes to lie.
func printExecutable() error {
	host, err := ThisHost()
	fmt.Print(host.Executable)
	return err
}

// enrolUnderUmask makes a scope, a workload's directory and a runtime root below
// os.Args[1] under the umask os.Args[2].
func enrolUnderUmask() error {
	mask, err := strconv.ParseInt(os.Args[2], 8, 32)
	if err != nil {
		return err
	}
	syscall.Umask(int(mask))
	lock, err := LockForEnrolment(os.Args[1], testScope, nil)
	if err != nil {
		return err
	}
	e, err := newRete().enrolment()
	if err != nil {
		return err
	}
	if err := Create(os.Args[1], testScope, e); err != nil {
		return err
	}
	s, err := Open(os.Args[1], testScope)
	if err != nil {
		return err
	}
	if _, err := s.WorkloadDir("web"); err != nil {
		return err
	}
	layout := Layout{Mode: User, RuntimeBase: os.Args[1] + "/run"}
	if _, err := layout.MakeRuntimeRoot(testScope); err != nil {
		return err
	}
	return lock.Release()
}

// startHolder starts a process that holds the lock, and waits until it does.
func startHolder(t *testing.T, stateDir string) (pid int, end func()) {
	t.Helper()
	cmd := role("hold", stateDir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return cmd.Process.Pid, func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the holder: %v", err)
		}
	}
}
