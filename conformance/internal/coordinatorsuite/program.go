package coordinatorsuite

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/florete/flor/conformance/internal/host"
)

// freshCases are about a coordinator on which nothing was ever published.
func freshCases() []Case {
	return []Case{
		{Name: "fresh/not-published", Title: "before the first publish a fetch is 503 not_published with Retry-After", Rules: "CRD-1 CRD-7", Run: checkNotPublished},
		{Name: "fresh/held", Title: "before the first publish a question can be held", Rules: "CRD-1", Run: checkFreshHeld},
		{Name: "fresh/first-publish-wakes", Title: "the first publish serves who waits for it", Rules: "CRD-1 CRD-6", Run: checkFirstPublishWakes},
		{Name: "fresh/any-version", Title: "where nothing is on record, a tree of any version is taken", Rules: "CRD-3", Run: checkAnyVersion},
	}
}

func checkNotPublished(r *Relay) {
	a := r.fetch("alpha", "?have=3")
	r.wants("a fetch before the first publish", a, http.StatusServiceUnavailable, "not_published")
	if a.Header.Get("Retry-After") == "" {
		r.Fatalf("a fetch before the first publish is answered without Retry-After")
	}
}

func checkFreshHeld(r *Relay) {
	r.holdInVain("alpha", "?wait=", http.StatusServiceUnavailable, "not_published")
}

func checkFirstPublishWakes(r *Relay) {
	q := r.hold("alpha", "?wait=60")
	alpha := r.root("alpha", 1, "a")
	r.mustPublish(alpha)
	a := q.reply(answerIn)
	r.wants(q.what+" when the first tree was published", a, http.StatusOK, "")
	r.holds(a, alpha)
}

func checkAnyVersion(r *Relay) {
	alpha := r.root("alpha", 9007199254740991, "a")
	r.mustPublish(alpha)
	r.serves("alpha", alpha)
}

// restartCases are about what is durable (CRD-4, CRD-7).
func restartCases() []Case {
	return []Case{
		{Name: "restart/after-a-stop", Title: "what was published is served after a stop and a start", Rules: "CRD-4 CRD-7", Run: checkKeepsTree},
		{Name: "restart/after-a-kill", Title: "what was answered as accepted is there after SIGKILL", Rules: "CRD-4", Run: checkKeepsTreeAfterKill},
		{Name: "restart/killed-in-the-middle", Title: "after SIGKILL in the middle of publishes the newest tree that was accepted is served, or a newer one, whole", Rules: "CRD-4 CRD-7", Run: checkKilledInTheMiddle},
		{Name: "restart/floors", Title: "a node that had left may not come back lower after a start", Rules: "CRD-3 CRD-7", Run: checkKeepsFloors},
		{Name: "restart/tree-gone", Title: "without tree.json it starts, answers 503, and judges by the floors", Rules: "CRD-3 CRD-7", Run: checkTreeGone},
		{Name: "restart/tree-half", Title: "half a tree.json is set aside, answered 503, and mended by a publish at the floors", Rules: "CRD-7", Run: damaged(func(doc []byte) []byte { return doc[:len(doc)/2] })},
		{Name: "restart/tree-zeros", Title: "a tree.json of zero bytes is set aside, answered 503, and mended by a publish at the floors", Rules: "CRD-7", Run: damaged(func(doc []byte) []byte { return make([]byte, len(doc)) })},
		{Name: "restart/tree-empty", Title: "an empty tree.json is set aside, answered 503, and mended by a publish at the floors", Rules: "CRD-7", Run: damaged(func([]byte) []byte { return nil })},
		{Name: "restart/floors-zeros", Title: "a floors.json of zero bytes is set aside, the tree is served, and publishes are judged by its versions", Rules: "CRD-3 CRD-7", Run: checkFloorsDamaged},
		{Name: "restart/floors-newer", Title: "a floors.json of a newer schema_version is exit 78 and is not touched", Rules: "CRD-7 SUP-3", Run: checkFloorsNewer},
		{Name: "restart/not-stored", Title: "a publish that cannot be stored is 507 not_stored, changes nothing, and fetches go on", Rules: "CRD-1 CRD-4", Run: checkNotStored},
	}
}

func (r *Relay) again() {
	r.stop()
	r.start()
}

func checkKeepsTree(r *Relay) {
	alpha, beta := r.publishAlpha()
	r.again()
	r.serves("alpha", alpha...)
	r.serves("beta", beta...)
}

func checkKeepsTreeAfterKill(r *Relay) {
	r.publishAlpha()
	next := r.root("alpha", 8, "b")
	r.mustPublish(next)
	r.kill()
	r.start()
	r.serves("alpha", next)
}

// checkKilledInTheMiddle kills the coordinator in the middle of a row of publishes,
// at moments that differ, but never before one was taken.
func checkKilledInTheMiddle(r *Relay) {
	set := func(v uint64) [][]byte {
		return [][]byte{r.root("alpha", v, "a"), r.member("alpha", "flor", v, large[:1<<16])}
	}
	next := uint64(1)
	for round := range 4 {
		taken, last := make(chan struct{}), make(chan uint64, 1)
		begin := next
		go func() { last <- r.publishWhileItLives(begin, set, sync.OnceFunc(func() { close(taken) })) }()
		select {
		case <-taken:
		case <-last:
			r.Fatalf("of a row of good trees, one version after the other, the first must be accepted")
		}
		r.process.EndsIn(time.Duration(10*round) * time.Millisecond)
		r.kill()
		accepted := <-last
		r.start()
		a := r.fetch("alpha", "")
		served := uint64(0)
		_, err := fmt.Sscan(a.Header.Get("Flor-Set-Version"), &served)
		r.Check(err, "read Flor-Set-Version of "+a.String())
		if served < accepted || served > accepted+1 {
			r.Fatalf("version %d was answered as accepted, then it was killed: it serves version %d; it must be that or the next", accepted, served)
		}
		r.holds(a, set(served)...)
		next = served + 1
	}
}

// publishWhileItLives publishes one version after the other until that fails, tells
// of each that was accepted, and returns the last one.
func (r *Relay) publishWhileItLives(version uint64, set func(uint64) [][]byte, taken func()) uint64 {
	last := version - 1
	for {
		a, err := r.tryPost(document(set(version)...))
		if err != nil || a.Status != http.StatusOK {
			return last
		}
		taken()
		last, version = version, version+1
	}
}

func checkKeepsFloors(r *Relay) {
	_, beta := r.publishAlpha()
	r.mustPublish(beta...)
	r.again()
	r.conflicts("alpha at version 6, which had left at 7 before a restart", r.post(document(append(beta, r.root("alpha", 6, "a"))...)))
}

func checkTreeGone(r *Relay) {
	alpha, beta := r.publishAlpha()
	r.stop()
	r.Check(os.Remove(r.state("tree.json")), "remove tree.json, which a coordinator keeps in FLORWL_STATE_DIR")
	r.start()
	r.wants("a fetch without tree.json", r.fetch("alpha", ""), http.StatusServiceUnavailable, "not_published")
	r.mended(alpha, beta)
}

// mended requires that a publish below the floors is refused, and that one at them
// is the cure.
func (r *Relay) mended(alpha, beta [][]byte) {
	r.conflicts("alpha at version 6, where the floor is 7", r.post(document(append(beta, r.root("alpha", 6, "a"))...)))
	r.mustPublish(append(alpha, beta...)...)
	r.serves("alpha", alpha...)
}

// damaged has tree.json damaged between a stop and a start.
func damaged(damage func([]byte) []byte) func(*Relay) {
	return func(r *Relay) {
		alpha, beta := r.publishAlpha()
		r.stop()
		path := r.state("tree.json")
		doc, err := os.ReadFile(path)
		r.Check(err, "read tree.json, which a coordinator keeps in FLORWL_STATE_DIR")
		broken := damage(doc)
		r.Check(os.WriteFile(path, broken, 0o600), "damage tree.json")
		r.start()
		r.wants("a fetch with a damaged tree.json", r.fetch("alpha", ""), http.StatusServiceUnavailable, "not_published")
		r.setAside("tree.json", broken)
		r.mended(alpha, beta)
	}
}

// setAside requires that a damaged file of the state was renamed.
func (r *Relay) setAside(name string, broken []byte) {
	aside, err := filepath.Glob(r.state(name) + ".corrupt-*")
	r.Check(err, "look for what was set aside")
	if len(aside) != 1 {
		r.Fatalf("a damaged %s is set aside as %s.corrupt-<UTC>: there are %q", name, name, aside)
	}
	kept, err := os.ReadFile(aside[0])
	if err != nil || !bytes.Equal(kept, broken) {
		r.Fatalf("what was set aside is not what was there: keep it for a look")
	}
}

func checkFloorsDamaged(r *Relay) {
	alpha, beta := r.publishAlpha()
	r.stop()
	zeros := make([]byte, 64)
	r.Check(os.WriteFile(r.state("floors.json"), zeros, 0o600), "damage floors.json")
	r.start()
	r.serves("alpha", alpha...)
	r.setAside("floors.json", zeros)
	r.conflicts("alpha at version 6, where the tree has 7", r.post(document(append(beta, r.root("alpha", 6, "a"))...)))
	next := r.root("alpha", 8, "b")
	r.mustPublish(append(beta, next)...)
	r.again()
	r.serves("alpha", next)
}

func checkFloorsNewer(r *Relay) {
	r.publishAlpha()
	r.stop()
	newer := []byte(`{"schema_version":"2.0","floors":{},"novel":1}`)
	r.Check(os.WriteFile(r.state("floors.json"), newer, 0o600), "write a newer floors.json")
	tree, err := os.ReadFile(r.state("tree.json"))
	r.Check(err, "read tree.json, which a coordinator keeps in FLORWL_STATE_DIR")
	r.host.Refused(r.host.Start(), "a floors.json of schema 2.0, which a newer program wrote")
	for name, text := range map[string][]byte{"floors.json": newer, "tree.json": tree} {
		if left, err := os.ReadFile(r.state(name)); err != nil || !bytes.Equal(left, text) {
			r.Fatalf("it touched %s (%v), beside what a newer program wrote: leave everything as it is", name, err)
		}
	}
}

// checkNotStored takes the state directory away, so that nobody can write there,
// root included.
func checkNotStored(r *Relay) {
	alpha, _ := r.publishAlpha()
	r.Check(os.RemoveAll(r.host.State()), "remove the state directory")
	a := r.post(document(r.root("alpha", 8, "b")))
	r.wants("a publish without a state directory", a, http.StatusInsufficientStorage, "not_stored")
	r.serves("alpha", alpha...)
}

// configCases are about the coordinator's own artifact (CRD-1).
func configCases() []Case {
	cases := []Case{
		{Name: "config/busy-port", Title: "a busy port is a crash, neither 0 nor 78: it may free up", Rules: "CRD-1 SUP-3", Run: checkBusyPort, Stopped: true},
	}
	for _, c := range unservable {
		cases = append(cases, Case{Name: "config/" + c.name, Title: c.title + " is exit 78", Rules: "CRD-1 SUP-3", Stopped: true, Run: func(r *Relay) {
			r.host.SetArtifact(r.host.Artifact(1, c.payload(r.host.Payload)))
			r.host.Refused(r.host.Start(), c.title)
		}})
	}
	return cases
}

var unservable = []struct {
	name, title string
	payload     func(good string) string
}{
	{"newer", "a configuration of a newer minor", func(good string) string { return strings.Replace(good, `"1.0"`, `"1.1"`, 1) }},
	{"unknown-member", "a configuration with an unknown member", func(good string) string { return strings.Replace(good, "{", `{"novel":1,`, 1) }},
	{"one-listener", "a configuration with one listener", func(good string) string {
		sync, _, _ := strings.Cut(good, `,"publish"`)
		return sync + "}}"
	}},
	{"a-name", "a host name in place of an address", func(good string) string {
		return loopback.ReplaceAllString(good, "localhost:")
	}},
	{"port-zero", "port 0, which nobody finds", func(good string) string { return port.ReplaceAllString(good, `:0"`) }},
}

var (
	loopback = regexp.MustCompile(`127\.[0-9.]+:`)
	port     = regexp.MustCompile(`:[0-9]+"`)
)

func checkBusyPort(r *Relay) {
	l, err := net.Listen("tcp", strings.TrimPrefix(r.publish, "http://"))
	r.Check(err, "take its port")
	defer l.Close()
	p := r.host.Start()
	ending, ended := p.EndsIn(host.Grace)
	if !ended {
		r.Fatalf("with its port taken it runs on: end as a crash, and be started again")
	}
	if ending.Code == 0 || ending.Code == 78 {
		r.Fatalf("with its port taken it ended with %s: that says that it stopped as told, or need not be tried again", ending)
	}
}

// drainCases are about the end of a coordinator (CRD-6).
func drainCases() []Case {
	return []Case{
		{Name: "drain/held", Title: "at SIGTERM who waits is answered at once with what was held back", Rules: "CRD-6 SUP-4", Run: checkDrainsHeld},
		{Name: "drain/new-watches", Title: "while it drains a new wait is 503 draining, and what needs no wait is served", Rules: "CRD-1 CRD-6 SUP-11", Run: checkDrainsNew},
	}
}

func checkDrainsHeld(r *Relay) {
	r.publishAlpha()
	q := r.hold("alpha", "?have=7&wait=60")
	stranger := r.hold("stranger", "?wait=60")
	r.stop()
	r.wants(q.what+" at SIGTERM", q.reply(answerIn), http.StatusNotModified, "")
	r.wants(stranger.what+" at SIGTERM", stranger.reply(answerIn), http.StatusNotFound, "unknown_node")
}

// checkDrainsNew tells it to drain on its control channel, so that its listeners
// stay.
func checkDrainsNew(r *Relay) {
	alpha, _ := r.publishAlpha()
	r.host.AwaitServing(r.process)
	r.host.NeedsChannel("drain")
	r.host.Call(http.MethodPost, "/v1/drain", `{"within_ms":800}`)
	a := r.fetch("alpha", "?have=7&wait=60")
	r.wants("a wait while it drains", a, http.StatusServiceUnavailable, "draining")
	if a.Header.Get("Retry-After") == "" {
		r.Fatalf("a wait while it drains is answered without Retry-After")
	}
	r.serves("alpha", alpha...)
}
