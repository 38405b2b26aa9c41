package supervise

import (
	"context"
	"os"
)

// besidePrefix begins the name under which what runs beside the list is on
// record, so that no child of the list has the same.
const besidePrefix = "beside:"

// RunBeside runs spec once, to its end, beside the children of the list. What
// holds for them holds for it: it has its own process group, and cgroup where
// there are such; it is on record while it runs, so that a successor of this
// supervisor ends it (SUP-9); and what it leaves is ended with it, found by its
// Marker, which is that of no child (SUP-5). It is killed when ctx is done.
//
// Only one of a name runs at a time. Of spec, what is about a second process
// counts for nothing: Check, Policy, Classify, Revision, Tag, Refused, Offer and
// Drain. The error is an *[Error] where it could not be started.
func (s *Supervisor) RunBeside(ctx context.Context, spec Spec) (*os.ProcessState, error) {
	spec.Refused = ""
	if err := spec.check(); err != nil {
		return nil, err
	}
	spec.Name = besidePrefix + spec.Name
	if !s.admitBeside(spec.Name) {
		return nil, refuse("FL2301", "bad-spec", "%s runs already: wait for its end, or give this one another name", spec.Name)
	}
	defer s.dismissBeside(spec.Name)
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.runBeside(ctx, &spec)
}

func (s *Supervisor) runBeside(ctx context.Context, spec *Spec) (*os.ProcessState, error) {
	log := s.log.With("workload", spec.Name)
	if err := s.announce(spec); err != nil {
		log.Error("cannot record what is to be started", "err", err)
	}
	defer func() {
		if err := s.record.forget(spec.Name); err != nil {
			log.Error("cannot update the record of children", "err", err)
		}
	}()
	proc, err := startProcess(spec, s.lineage)
	if err != nil {
		return nil, err
	}
	if err := s.record.add(spec.Name, proc.pid); err != nil {
		log.Error("cannot record the process: it would survive a crash of its supervisor", "err", err)
	}
	defer context.AfterFunc(ctx, proc.kill)()
	return proc.wait()
}

// admitBeside notes that something of this name runs, if nothing does.
func (s *Supervisor) admitBeside(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.besides[name] {
		return false
	}
	s.besides[name] = true
	return true
}

func (s *Supervisor) dismissBeside(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.besides, name)
}
