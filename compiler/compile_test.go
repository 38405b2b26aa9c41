package compiler

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// treeOf is the compiled tree and the ledger of a snapshot.
func treeOf(files map[string]string) map[string]string {
	tree := map[string]string{}
	for name, text := range files {
		if strings.HasPrefix(name, treeDir) || name == ledgerFile {
			tree[name] = text
		}
	}
	return tree
}

// CMP-15: the same network gives the same bytes, however it is spread over
// files, wherever it lies, on however many processors. The test does not run
// beside others: it sets GOMAXPROCS.
func TestSameInputsSameBytes(t *testing.T) {
	w := newWorld(t)
	stamp, err := GeneratedAt(time.Now(), func(string) string { return "1750000000" })
	if err != nil {
		t.Fatal(err)
	}
	opts := w.options()
	opts.GeneratedAt = stamp
	w.compileWith(opts)
	want := treeOf(w.snapshot())

	w.remove(florDir)
	moved := w.elsewhere(map[string]string{
		"z/people.yaml":    loversYAML["users.yaml"],
		"a/b/access.yml":   loversYAML["access.yaml"],
		"machines.yaml":    loversYAML["nodes.yaml"],
		"rete.yaml":        reteYAML + loversYAML["services.yaml"],
		"notes/readme.txt": "not YAML",
	})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	opts = moved.options()
	opts.GeneratedAt = stamp
	moved.compileWith(opts)
	if diff := cmp.Diff(want, treeOf(moved.snapshot())); diff != "" {
		t.Errorf("trees differ (-one +other):\n%s", diff)
	}
}

// elsewhere is the same rete in another directory, with other files.
func (w *world) elsewhere(files map[string]string) *world {
	w.t.Helper()
	other := *w
	other.dir = w.t.TempDir()
	for _, name := range []string{"certs/ca.crt", "certs/management-planes/primary.crt"} {
		other.write(name, w.read(name))
	}
	for name, text := range files {
		other.write(name, text)
	}
	return &other
}

func TestGeneratedAtHonoursSourceDateEpoch(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 20, 12, 0, 0, 999, time.UTC)
	tests := []struct {
		name, epoch string
		want        time.Time
		ok          bool
	}{
		{"unset, it is now in whole seconds", "", now.Truncate(time.Second), true},
		{"set, it is that", "1750000000", time.Unix(1750000000, 0).UTC(), true},
		{"a word is refused", "yesterday", time.Time{}, false},
		{"a negative one is refused", "-1", time.Time{}, false},
		{"one past the year 9999 is refused", "253402300800", time.Time{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := GeneratedAt(now, func(string) string { return tt.epoch })
			if !got.Equal(tt.want) || (err == nil) != tt.ok {
				t.Errorf("got %v, error %v", got, err)
			}
			if !tt.ok && !IsRefused(err, ReasonBadBuildTime) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// What a compile writes is what a node takes: the sets of all nodes verify as a
// first enrolment would verify them (CMP-16, ENV-12, ENV-18).
func TestEveryNodeAcceptsItsSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	held := envelope.Held{Anchor: envelope.Anchor{TrustDomain: loversTD, CA: w.authority.Certificate()}}
	for _, node := range []string{"alpha", "beta", "laptop", "mgmt01"} {
		files, err := readSet(w.fsys(), node)
		if err != nil {
			t.Fatal(err)
		}
		set, err := schema.VerifySet(held, node, files.members(), w.now)
		if err != nil {
			t.Fatalf("node %s: %v", node, err)
		}
		if set.Version != 1 {
			t.Errorf("node %s is at version %d", node, set.Version)
		}
	}
}

// CLI-1: --check writes nothing at all, not even a lock, and needs no key.
func TestCheckWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opts := w.options()
	opts.Check, opts.Signer = true, nil
	result := w.compileWith(opts)
	if len(result.Changes) != 4 {
		t.Errorf("would move %v", moves(result))
	}
	w.write(florDir+"/x", "") // so that there is something to list
	if files := w.snapshot(); len(files) != 1 {
		t.Errorf("written: %v", files)
	}
}

func TestFaultsOfTheSourceComeTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("services.yaml", "at: alpha", "at: alhpa")
	w.edit("access.yaml", "developer: {allow: [api]}", "developer: {alow: [api]}")
	err := w.compileError(w.options())
	var faults *SourceError
	if !errors.As(err, &faults) {
		t.Fatalf("got %v", err)
	}
	if len(faults.Diagnostics) != 2 || faults.Code() != "FL0514" {
		t.Errorf("%s: %v", faults.Code(), faults.Diagnostics)
	}
}

// CMP-18: what strands nodes is refused until it is asked for.
func TestMovingTheCoordinator(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*world)
		moved  bool
	}{
		{"another node", func(w *world) {
			w.edit("services.yaml", "{at: mgmt01", "{at: beta")
		}, true},
		{"another address", func(w *world) { w.edit("nodes.yaml", "9.10.11.12", "9.10.11.13") }, true},
		{"another port", func(w *world) { w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434") }, true},
		{"the node has another name", func(w *world) {
			w.edit("nodes.yaml", "mgmt01", "mgmt02")
			w.edit("services.yaml", "mgmt01", "mgmt02")
		}, true},
		{"another local port of the coordinator", func(w *world) { w.edit("services.yaml", "127.0.0.1:9000", "127.0.0.1:9002") }, false},
		{"another node's address", func(w *world) { w.edit("nodes.yaml", "5.6.7.8", "5.6.7.9") }, false},
		{"another port, and the set of the management node was edited", func(w *world) {
			w.edit(".flor/compiled/mgmt01/mgmt/flor.json", "\n}", "\n }")
			w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434")
		}, true},
		{"another port, and every set was edited", func(w *world) {
			w.editEverySet()
			w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434")
		}, true},
		{"another port, and the tree is gone", func(w *world) {
			w.remove(treeDir)
			w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434")
		}, true},
		{"another port, and every version is lifted", func(w *world) {
			for _, node := range []string{"mgmt01", "alpha", "beta", "laptop"} {
				if _, err := LearnFloors(w.dir, []Conflict{{Node: node, Stored: 5}}); err != nil {
					w.t.Fatal(err)
				}
			}
			w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434")
		}, true},
		{"every set was edited, and one dials elsewhere", func(w *world) {
			w.editEverySet()
			w.edit(".flor/compiled/alpha/mgmt/flor.json", "9.10.11.12:4433", "9.10.11.12:4434")
			w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434")
		}, true},
		{"every set was edited, and nothing moves", (*world).editEverySet, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			if _, err := w.issue("laptop"); err != nil {
				t.Fatal(err)
			}
			tt.change(w)
			opts := w.options()
			if tt.moved {
				before := w.snapshot()
				if err := w.compileError(opts); !IsRefused(err, ReasonCoordinatorMoved) {
					t.Errorf("got %v", err)
				}
				check := opts
				check.Check = true
				if err := w.compileError(check); !IsRefused(err, ReasonCoordinatorMoved) {
					t.Errorf("with Check: %v", err)
				}
				if !sameFiles(before, w.snapshot()) {
					t.Error("something was written")
				}
				opts.MoveCoordinator = true
			}
			w.compileWith(opts)
		})
	}
}

// editEverySet alters each set in the tree, but not where it finds the
// coordinator.
func (w *world) editEverySet() {
	w.t.Helper()
	for _, node := range []string{"mgmt01", "alpha", "beta", "laptop"} {
		w.edit(".flor/compiled/"+node+"/mgmt/agent.json", `"flor-vertex"`, `"flor-vortex"`)
	}
}

// CMP-18: nobody can be stranded while no node has a certificate.
func TestTheCoordinatorMovesFreelyUntilANodeWasIssued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	if err := LogIssued(w.dir, Issued{At: w.now, Kind: "user", Name: "fyodor", NotAfter: w.now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434")
	w.compile()
	if _, err := w.issue("alpha"); err != nil {
		t.Fatal(err)
	}
	w.edit("nodes.yaml", "9.10.11.12:4434", "9.10.11.12:4435")
	if err := w.compileError(w.options()); !IsRefused(err, ReasonCoordinatorMoved) {
		t.Errorf("got %v", err)
	}
}

func TestTheFirstListedSignerWhoseKeyIsHereSigns(t *testing.T) {
	t.Parallel()
	listed := []*Signer{{Name: "one"}, {Name: "two"}, {Name: "three"}}
	has := func(name string) bool { return name != "one" }
	tests := []struct {
		name, ask, want string
		has             func(string) bool
	}{
		{"the first with a key", "", "two", has},
		{"the one asked for", "three", "three", has},
		{"the one asked for, key or not", "one", "one", has},
		{"one that is not listed", "four", "", has},
		{"no key here", "", "", func(string) bool { return false }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := PickSigner(listed, tt.ask, tt.has)
			if tt.want == "" {
				if !IsRefused(err, ReasonNoSigner) {
					t.Errorf("got %v, error %v", got, err)
				}
				return
			}
			if err != nil || got.Name != tt.want {
				t.Errorf("got %v, error %v", got, err)
			}
		})
	}
}

func TestAKeyThatIsNotTheSignersIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stranger := w.must(ca.NewKey())
	opts := w.options()
	opts.Signer = func(listed []*Signer) (*Signer, crypto.Signer, error) { return listed[0], stranger, nil }
	var refusal *ca.Refusal
	if err := w.compileError(opts); !errors.As(err, &refusal) || refusal.Reason != ca.ReasonKeyMismatch {
		t.Errorf("got %v", err)
	}
	w.write(florDir+"/compiled/.keep", "")
	if files := treeOf(w.snapshot()); len(files) != 1 {
		t.Errorf("written: %v", files)
	}
}

func TestACancelledCompileWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	w.edit("nodes.yaml", "5.6.7.8", "5.6.7.9")
	before := w.snapshot()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compile(ctx, w.options()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !sameFiles(before, w.snapshot()) {
		t.Error("something was written")
	}
}

// ENV-17, CLI-4: what is sent is the document of the tree, and its size is known
// before.
func TestTheDocumentHoldsEachMemberAsItLies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := OpenDocument(w.dir); !IsRefused(err, ReasonNothingCompiled) {
		t.Errorf("before the first compile: %v", err)
	}
	w.compile()
	doc, err := OpenDocument(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	text, err := io.ReadAll(iotest.OneByteReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	members, err := envelope.ParseSet(text)
	if err != nil || len(doc.Nodes) != 4 || len(members) != 9 {
		t.Fatalf("%d nodes, %d members, error %v", len(doc.Nodes), len(members), err)
	}
	if whole := envelope.AppendSet(nil, members...); doc.Size != int64(len(text)) || !bytes.Equal(text, whole) {
		t.Errorf("%d bytes, said to be %d, written by AppendSet %d", len(text), doc.Size, len(whole))
	}
	for _, member := range members {
		core, err := envelope.Probe(member)
		if err != nil {
			t.Fatal(err)
		}
		file := w.read(fmt.Sprintf("%s/%s/mgmt/%s.json", treeDir, core.Node, core.Name))
		if !bytes.Equal(append(bytes.Clone(member), '\n'), []byte(file)) {
			t.Errorf("%s differs from its file", core.Ref())
		}
	}
}

// What would be published and is not what a compile wrote is refused.
func TestATreeEditedByHandIsNotPublished(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*world){
		"an artifact was edited":  func(w *world) { w.edit(".flor/compiled/alpha/mgmt/flor.json", "5.6.7.8", "5.6.7.9") },
		"an artifact was removed": func(w *world) { w.remove(".flor/compiled/alpha/mgmt/flor.json") },
		"an artifact was added":   func(w *world) { w.write(".flor/compiled/alpha/mgmt/extra.json", "{}") },
		"a node was removed":      func(w *world) { w.remove(".flor/compiled/alpha") },
		"a node was added":        func(w *world) { w.write(".flor/compiled/omega/mgmt/agent.json", "{}") },
		"the ledger is gone":      func(w *world) { w.remove(ledgerFile) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			edit(w)
			if _, err := OpenDocument(w.dir); !IsRefused(err, ReasonTreeEdited) || !strings.Contains(err.Error(), "retectl compile") {
				t.Errorf("got %v", err)
			}
			w.compile()
			doc, err := OpenDocument(w.dir)
			if err != nil {
				t.Fatalf("after the compile that was asked for: %v", err)
			}
			doc.Close()
		})
	}
}

// A repository that was cloned brings no lock and no journal, and git ignores
// what a compile leaves beside the tree.
func TestWhatIsNotToBeCommittedIsIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	text := w.read(ignoreFile)
	for _, name := range []string{"/staging/", "/journal.json", "/lock"} {
		if !strings.Contains(text, "\n"+name+"\n") {
			t.Errorf("%s is not ignored", name)
		}
	}
}

// CMP-16: what its consumer would refuse is neither signed nor written, whichever
// consumer it is.
func TestAPayloadThatItsConsumerWouldRefuseIsNotSigned(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*NodePayloads)
	}{
		{"the agent", func(p *NodePayloads) { p.Agent.Sync.Coordinator = "spiffe://rete-lovers/user/alice" }},
		{"the vertex", func(p *NodePayloads) { p.Vertex.Workloads[0].SPIFFEID = "nobody" }},
		{"the coordinator", func(p *NodePayloads) { p.Coordinator.Listen.Sync = "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, payloads := newWorld(t).readyToSign("mgmt01")
			if _, err := s.sign(nodePlan{node: "mgmt01"}, payloads); err != nil {
				t.Fatalf("unspoilt: %v", err)
			}
			tt.spoil(&payloads)
			files, err := s.sign(nodePlan{node: "mgmt01"}, payloads)
			if !IsRefused(err, ReasonProjectionInvalid) || files != nil {
				t.Errorf("got %d files, error %v", len(files), err)
			}
			if err := payloads.validate(); err == nil {
				t.Error("the payload was not held against its consumer's schema")
			}
		})
	}
}

// readyToSign is a signer, and what it would sign for a node.
func (w *world) readyToSign(node string) (*signer, NodePayloads) {
	w.t.Helper()
	loaded, err := Load(w.source())
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := makePlan(w.t.Context(), loaded.View, w.fsys(), w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := p.newSigner(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return s, p.payloads(node)
}

// CMP-16: a compile that meets such a payload writes nothing.
func TestACompileWithAPayloadThatIsRefusedWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	loaded, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range loaded.View.Services {
		s.Upstream, s.Embedded = netip.AddrPort{}, false
	}
	p, err := makePlan(t.Context(), loaded.View, w.fsys(), w.options())
	if err != nil {
		t.Fatal(err)
	}
	repo, err := openRepository(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	if err := p.carryOut(t.Context(), repo.fsys, w.options()); !IsRefused(err, ReasonProjectionInvalid) {
		t.Errorf("got %v", err)
	}
	for name := range w.snapshot() {
		if strings.HasPrefix(name, treeDir) || strings.HasPrefix(name, stagingDir) || name == ledgerFile {
			t.Errorf("%s was left", name)
		}
	}
}

// CMP-16: payloads that are well by themselves may be no set together; that is
// seen before anything is written, too.
func TestASetThatIsNoneIsNotSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, payloads := w.readyToSign("alpha")
	payloads.Agent.Workloads = append(payloads.Agent.Workloads, schema.Workload{Name: "ghost", Run: []string{"ghost"}})
	if err := payloads.validate(); err != nil {
		t.Fatalf("the payloads are not well by themselves: %v", err)
	}
	if _, err := s.sign(nodePlan{node: "alpha"}, payloads); !IsRefused(err, ReasonProjectionInvalid) || !strings.Contains(err.Error(), "ghost") {
		t.Errorf("got %v", err)
	}
}

// CMP-16: a set that no agent would fetch is not signed.
func TestASetOverTheLimitOfAFetchIsRefused(t *testing.T) {
	t.Parallel()
	s, payloads := newWorld(t).readyToSign("alpha")
	files, err := s.sign(nodePlan{node: "alpha"}, payloads)
	if err != nil {
		t.Fatal(err)
	}
	var members []envelope.Verified
	for _, text := range files.members() {
		member, err := s.trust.Verify(text)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, member)
	}
	files["huge.json"] = make([]byte, envelope.MaxSetFetch)
	if err := s.check("alpha", members, files); !IsRefused(err, ReasonTooLarge) {
		t.Errorf("got %v", err)
	}
}
