package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// killPatience is how long a survivor may take to end after SIGKILL.
const killPatience = 5 * time.Second

// Survivor is a process that outlived the supervisor that had spawned it.
type Survivor struct {
	Name string
	PID  int
}

// EndSurvivors ends what an earlier supervisor with this run directory left
// running: SIGTERM, after grace SIGKILL to the process group; then, on Linux,
// whatever is still in the cgroup of a child, and every orphan with its marker
// in its environment, by SIGKILL; and then its record is removed (SUP-9). A pid
// that by now belongs to another process is left alone. It returns those it
// ended. A record that cannot be read is an error and nothing is touched, as is
// a survivor that does not end. [Supervisor.Run] calls it; no supervisor may be
// running in dir.
func EndSurvivors(ctx context.Context, dir string, grace time.Duration) ([]Survivor, error) {
	doc, err := readRecord(dir)
	if err != nil {
		return nil, err
	}
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("read the boot id: %w", err)
	}
	ended, err := endRecorded(ctx, doc.childrenOf(boot), grace)
	if err != nil {
		return ended, err
	}
	unrecorded, err := endMarked(ctx, doc.marksOf(boot))
	ended = append(ended, unrecorded...)
	if err != nil {
		return ended, err
	}
	if err := os.Remove(filepath.Join(dir, recordFile)); err != nil && !os.IsNotExist(err) {
		return ended, refuse("FL2302", "bad-record", "%w", err)
	}
	return ended, nil
}

// childrenOf and marksOf leave out what another boot has ended.
func (d *recordDoc) childrenOf(boot string) []child {
	return slices.DeleteFunc(d.Children, func(c child) bool { return c.BootID != boot })
}

func (d *recordDoc) marksOf(boot string) []mark {
	return slices.DeleteFunc(d.Marks, func(m mark) bool { return m.BootID != boot })
}

// endRecorded ends the processes that were recorded.
func endRecorded(ctx context.Context, children []child, grace time.Duration) ([]Survivor, error) {
	found, err := findSurvivors(children)
	defer closeAll(found)
	if err != nil {
		return nil, err
	}
	if err := endAll(ctx, found, grace); err != nil {
		return nil, err
	}
	return names(found), nil
}

func findSurvivors(children []child) ([]*survivor, error) {
	var found []*survivor
	for _, c := range children {
		s, err := openSurvivor(c)
		if err != nil {
			return found, fmt.Errorf("look for %s, pid %d: %w", c.Name, c.PID, err)
		}
		if s != nil {
			found = append(found, s)
		}
	}
	return found, nil
}

func endAll(ctx context.Context, found []*survivor, grace time.Duration) error {
	for _, s := range found {
		s.signal(syscall.SIGTERM)
	}
	patience, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, s := range found {
		s.awaitEnd(patience)
		s.killGroup()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	patience, cancel = context.WithTimeout(ctx, killPatience)
	defer cancel()
	for _, s := range found {
		if !s.awaitEnd(patience) {
			return errSurvivor(s.Name, s.PID)
		}
	}
	return nil
}

func errSurvivor(name string, pid int) error {
	return fmt.Errorf("%s, pid %d, of an earlier supervisor does not end: end it by hand", name, pid)
}

func closeAll(found []*survivor) {
	for _, s := range found {
		s.close()
	}
}

func names(found []*survivor) []Survivor {
	var out []Survivor
	for _, s := range found {
		out = append(out, Survivor{Name: s.Name, PID: s.PID})
	}
	return out
}
