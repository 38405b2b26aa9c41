package supervise

import (
	"context"
	"syscall"
)

// cgroupTree and cgroup do not exist here.
type (
	cgroupTree struct{}
	cgroup     struct{}
)

func (*cgroupTree) make(string) (*cgroup, error) { return nil, nil }
func (*cgroup) attr() *syscall.SysProcAttr       { return &syscall.SysProcAttr{Setpgid: true} }
func (*cgroupTree) groupDir(string) string       { return "" }
func (*cgroup) remove()                          {}
func (*cgroup) path() string                     { return "" }

// open has nothing to turn on: there is neither a subreaper nor a cgroup here.
func (l *lineage) open(Options) {}

func (l *lineage) close() {}

// endLeft has nothing to add to the end of the process group.
func (l *lineage) endLeft(*process) {}

// reapOrphans has nobody to reap: orphans go to launchd.
func (l *lineage) reapOrphans(context.Context) {}
