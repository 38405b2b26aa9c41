package compiler

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compare compares the compiled tree of the repository with its source.
func (w *world) compare() *Diff {
	w.t.Helper()
	tree, err := ReadTree(w.t.Context(), w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.compareWith(tree)
}

func (w *world) compareWith(tree *CompiledTree) *Diff {
	w.t.Helper()
	loaded, err := Load(w.source())
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := Compare(w.t.Context(), loaded.View, tree)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// short is a diff as lines.
func (d *Diff) short() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, n := range d.Joined {
		add("%s joins", n)
	}
	for _, n := range d.Left {
		add("%s leaves", n)
	}
	for _, a := range d.Gained {
		add("%s gains %s", Described(a.Principal), Described(a.Service))
	}
	for _, a := range d.Lost {
		add("%s loses %s", Described(a.Principal), Described(a.Service))
	}
	for _, m := range d.Moves {
		add("%s@%s %s: %s > %s", m.Subject, m.Node, m.Setting, m.From, m.To)
	}
	for _, w := range d.Workloads {
		add("%s: %s %s", w.Node, w.Action, w.Workload)
	}
	if d.Road != nil {
		add("road: %s > %s, stranded %s", d.Road.From, d.Road.To, strings.Join(d.Road.Stranded, " "))
	}
	return lines
}

// TestDiffTellsWhatChangesForWhom is CLI-2, one change of the source each.
func TestDiffTellsWhatChangesForWhom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*world)
		want   []string
	}{
		"nothing":   {func(*world) {}, nil},
		"a comment": {func(w *world) { w.edit("users.yaml", "users:", "# people\nusers:") }, nil},
		"a user added": {
			func(w *world) {
				w.write("more.yaml", "users:\n  bob: {roles: [developer], nodes: [{at: beta}]}\n")
			},
			[]string{
				"user bob gains service api",
				"user bob@beta socks5_proxy:  > 127.0.0.1:1080",
				"alpha: swap flor",
				"beta: swap agent", "beta: swap flor",
			},
		},
		"a role taken away": {
			func(w *world) { w.edit("users.yaml", "[operator, admin]", "[operator]") },
			[]string{"user fyodor loses service alpha/ssh", "alpha: swap flor", "laptop: swap flor"},
		},
		"a service on another port": {
			func(w *world) { w.edit("services.yaml", "127.0.0.1:8000", "127.0.0.1:8001") },
			[]string{"service api@ addr: 127.0.0.1:8000 > 127.0.0.1:8001", "alpha: restart flor"},
		},
		"a service on another node": {
			func(w *world) { w.edit("services.yaml", "db:  {at: beta", "db:  {at: alpha") },
			[]string{"service db@ at: beta > alpha", "alpha: restart flor", "beta: restart flor"},
		},
		"a node at another address": {
			func(w *world) { w.edit("nodes.yaml", "1.2.3.4:4433", "1.2.3.5:4433") },
			[]string{"vertex@alpha address: 1.2.3.4:4433 > 1.2.3.5:4433", "laptop: swap flor"},
		},
		"a node that listens elsewhere": {
			func(w *world) { w.edit("nodes.yaml", "1.2.3.4:4433", "1.2.3.4:4433, listen: 0.0.0.0:5533") },
			[]string{"vertex@alpha listen: 0.0.0.0:4433 > 0.0.0.0:5533", "alpha: restart flor"},
		},
		"a node added": {
			func(w *world) {
				w.write("more.yaml", "nodes:\n  phone: {vertices: [{kind: link, type: quic}]}\n")
			},
			[]string{"phone joins", "node phone gains service coordinator", "mgmt01: swap flor"},
		},
		"a forward to another service": {
			func(w *world) { w.edit("users.yaml", "127.0.0.1:15000", "127.0.0.1:15001") },
			[]string{
				"user alice@laptop forward 127.0.0.1:15000: service api > ",
				"user alice@laptop forward 127.0.0.1:15001:  > service api",
				"laptop: swap flor",
			},
		},
		"the polling": {
			func(w *world) {
				w.edit("rete.yaml", "  name: rete-lovers", "  name: rete-lovers\n  sync: {poll_interval: 1m}")
			},
			[]string{"agents@ poll_interval:  > 1m0s", "alpha: swap agent", "beta: swap agent", "laptop: swap agent", "mgmt01: swap agent"},
		},
		"the coordinator on another port": { // CMP-18
			func(w *world) { w.edit("nodes.yaml", "9.10.11.12:4433", "9.10.11.12:4434") },
			[]string{
				"vertex@mgmt01 address: 9.10.11.12:4433 > 9.10.11.12:4434",
				"vertex@mgmt01 listen: 0.0.0.0:4433 > 0.0.0.0:4434",
				"alpha: swap flor", "beta: swap flor", "laptop: swap flor", "mgmt01: restart flor",
				"road: mgmt01 (9.10.11.12:4433) > mgmt01 (9.10.11.12:4434), stranded alpha beta laptop",
			},
		},
		"the coordinator on another node": { // CMP-18
			func(w *world) { w.edit("services.yaml", "at: mgmt01", "at: alpha") },
			[]string{
				"service coordinator@ at: mgmt01 > alpha",
				"service coordinator-publisher@ at: mgmt01 > alpha",
				"alpha: swap agent", "alpha: restart flor", "alpha: start coordinator",
				"beta: swap flor", "laptop: swap flor",
				"mgmt01: swap agent", "mgmt01: restart flor", "mgmt01: stop coordinator",
				"road: mgmt01 (9.10.11.12:4433) > alpha (1.2.3.4:4433), stranded alpha beta laptop",
			},
		},
		"the coordinator's own port": {
			func(w *world) { w.edit("services.yaml", "127.0.0.1:9000", "127.0.0.1:9009") },
			[]string{"service coordinator@ addr: 127.0.0.1:9000 > 127.0.0.1:9009", "mgmt01: restart flor", "mgmt01: restart coordinator"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			c.change(w)
			d := w.compare()
			if diff := cmp.Diff(c.want, d.short()); diff != "" {
				t.Errorf("the diff differs (-want +got):\n%s", diff)
			}
			if d.Empty() != (len(c.want) == 0) {
				t.Errorf("the diff is empty: %t", d.Empty())
			}
		})
	}
}

// TestADiffIsEmptyOnceItWasCompiled is a law of Compare and Compile.
func TestADiffIsEmptyOnceItWasCompiled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if d := w.compare(); len(d.Joined) != 4 || len(d.Workloads) != 0 || d.Road != nil {
		t.Errorf("before the first compile the diff is %v", d.short())
	}
	w.compile()
	w.edit("users.yaml", "alice:", "anna:")
	if w.compare().Empty() {
		t.Error("a renamed user changes nothing")
	}
	w.compile()
	if d := w.compare(); !d.Empty() {
		t.Errorf("after the compile there is a diff: %v", d.short())
	}
}

// TestAnArchivedTreeIsReadLikeTheTree packs the compiled tree as git does, and
// more beside it.
func TestAnArchivedTreeIsReadLikeTheTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	files := w.snapshot()
	files[treeDir+"/alpha/README.md"] = "no artifact"
	files[treeDir+"/alpha/mgmt/deep/er.json"] = "no artifact"
	files[treeDir+"/alpha/ctrl/agent.json"] = "another plane"
	files["users.yaml"] = "elsewhere"
	tree, err := ReadTreeArchive(bytes.NewReader(archive(t, files)))
	if err != nil {
		t.Fatal(err)
	}
	if d := w.compareWith(tree); !d.Empty() || tree.Nodes() != 4 {
		t.Errorf("the archive of %d nodes differs from its tree: %v", tree.Nodes(), d.short())
	}
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for name, text := range files {
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestATreeThatCannotBeComparedIsRefused covers damaged sets and archives.
func TestATreeThatCannotBeComparedIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	loaded, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(map[string]string){
		"no JSON":      func(f map[string]string) { f[setDir("alpha")+"/flor.json"] = "{" },
		"no root":      func(f map[string]string) { delete(f, setDir("alpha")+"/agent.json") },
		"not a vertex": func(f map[string]string) { f[setDir("alpha")+"/flor.json"] = f[setDir("alpha")+"/agent.json"] },
	} {
		files := w.snapshot()
		spoil(files)
		tree, err := ReadTreeArchive(bytes.NewReader(archive(t, files)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, err = Compare(t.Context(), loaded.View, tree)
		if !IsRefused(err, ReasonTreeUnsuitable) || !strings.Contains(err.Error(), "alpha") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := ReadTreeArchive(strings.NewReader(strings.Repeat("no archive", 100))); err == nil {
		t.Error("a text is read as an archive")
	}
}

// FuzzReadTreeArchive reads arbitrary archives and compares what they hold with
// nothing: no panic, and only located refusals.
func FuzzReadTreeArchive(f *testing.F) {
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	_ = out.WriteHeader(&tar.Header{Name: setDir("a") + "/agent.json", Mode: 0o644, Size: 2, Typeflag: tar.TypeReg})
	_, _ = out.Write([]byte("{}"))
	_ = out.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := ReadTreeArchive(bytes.NewReader(text))
		if err != nil {
			return
		}
		if _, err := tree.payloads(t.Context()); err != nil && !IsRefused(err, ReasonTreeUnsuitable) {
			t.Errorf("unlocated error %v", err)
		}
	})
}
