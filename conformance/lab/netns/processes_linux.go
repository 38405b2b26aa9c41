package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Processes lists the processes that run in the namespace, the calling one
// excepted.
func (n *Namespace) Processes() []int {
	own, err := n.file.Stat()
	if err != nil {
		return nil
	}
	entries, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(entry))))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if at, err := os.Stat(entry); err == nil && os.SameFile(own, at) {
			found = append(found, pid)
		}
	}
	return found
}

// plugTimeout bounds the time in which killed processes are gone.
const plugTimeout = 10 * time.Second

// PullPlug kills every process of the namespace at once, as a power cut does,
// and returns when none runs. Whoever started them waits for them.
func (n *Namespace) PullPlug() error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for began := time.Now(); ; <-look.C {
		pids := n.Processes()
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		if time.Since(began) > plugTimeout {
			return fmt.Errorf("processes %d do not end", pids)
		}
	}
}
