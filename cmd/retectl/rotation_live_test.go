package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise/control"
)

// ENV-12, ENV-13: a signer is exchanged on a rete that runs, over three
// publishes. Alpha is there for each of them; early misses the first two, so
// that it meets the new signer as a stranger, whom it believes by the CA; late
// misses the last two, and believes the new signer because it was there when it
// was listed. The log has what the tool and the nodes said (go test -v). The
// management node is a version ahead, because "retectl init" compiled it.
func TestASignerIsRotatedOnARunningRete(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds three programs and runs a rete of four nodes")
	}
	t.Parallel()
	r := newLiveRete(t, "alpha", "early", "late")
	for _, n := range r.nodes {
		n.come()
	}
	mustSay(t, r.publish(t), "accepted: 4 of 4 nodes changed", "next: commit .flor")
	r.expect(t, "before", map[string]holding{
		"mgmt01": {2, "primary", "primary"}, "alpha": {1, "primary", "primary"},
		"early": {1, "primary", "primary"}, "late": {1, "primary", "primary"},
	})
	old := r.exportSet(t, "alpha")

	r.nodes["early"].leave()
	awaitNextSecond() // which of two signers is the newer one is told by seconds
	said := r.retectl("ca", "rotate-signer", "add", "next", "--no-passphrase")
	mustSay(t, said, "step 1 of 3, add: every set will list next beside primary, and be signed as before; a node that fetches it believes both from then on")
	r.takeListing(t, said)
	r.retectl("compile")
	r.publish(t)
	r.expect(t, "after add", map[string]holding{
		"mgmt01": {3, "primary", "next primary"}, "alpha": {2, "primary", "next primary"}, "late": {2, "primary", "next primary"},
		"early": {1, "primary", "primary"},
	})

	r.nodes["late"].leave()
	mustSay(t, r.retectl("ca", "rotate-signer"), "the agent of mgmt01 here has version 3, published is 3", "next: retectl ca rotate-signer switch next, once nodes had the time to fetch")
	said = r.retectl("ca", "rotate-signer", "switch", "next")
	mustSay(t, said, "step 2 of 3, switch: every set is signed anew, by next; ", "A node that was away believes next by the CA")
	r.takeListing(t, said)
	r.retectl("compile", "--resign", "next")
	r.publish(t)
	r.expect(t, "after switch", map[string]holding{
		"mgmt01": {4, "next", "next primary"}, "alpha": {3, "next", "next primary"},
		"early": {1, "primary", "primary"}, "late": {2, "primary", "next primary"},
	})

	r.nodes["early"].come()
	r.expect(t, "early came back, and met a signer that it had never heard of", map[string]holding{"early": {3, "next", "next primary"}})

	mustSay(t, r.retectl("ca", "rotate-signer"), "next: retectl ca rotate-signer retire primary, if it is to go")
	said = r.retectl("ca", "rotate-signer", "retire", "primary")
	mustSay(t, said, "step 3 of 3, retire: no set will list primary. Each node that fetches remembers its key as retired and refuses it for ever")
	r.takeListing(t, said)
	r.retectl("compile")
	r.publish(t)
	r.expect(t, "after retire", map[string]holding{
		"mgmt01": {5, "next", "next"}, "alpha": {4, "next", "next"}, "early": {4, "next", "next"},
		"late": {2, "primary", "next primary"},
	})

	r.nodes["late"].come()
	r.expect(t, "late came back, and met the signer that it had seen listed", map[string]holding{"late": {4, "next", "next"}})
	mustSay(t, r.retectl("ca", "rotate-signer"), "no rotation is under way")
	r.expectRefused(t, "alpha", old)
}

// awaitNextSecond waits until certificates have another time than those before.
func awaitNextSecond() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
}

// publish goes through the rete itself, as the operator on the management node.
func (r *liveRete) publish(t *testing.T) string {
	t.Helper()
	r.nodes["mgmt01"].await("serving", serving)
	return r.retectl("publish", "--wait")
}

// serving tells that every workload is ready, so that the way in is open.
func serving(status control.StatusDoc) bool {
	for _, w := range status.Workloads {
		if w.Ready == nil || !w.Ready.Ready {
			return false
		}
	}
	return len(status.Workloads) > 0
}

// takeListing puts the signers into rete.yaml as the tool says.
func (r *liveRete) takeListing(t *testing.T, said string) {
	t.Helper()
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "keys: ") {
			r.edit("rete.yaml", r.listing(t), strings.TrimSpace(line))
			return
		}
	}
	t.Fatalf("the tool names no list of signers:\n%s", said)
}

func (r *liveRete) listing(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.repo(), "rete.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), "keys: [")
	line, _, _ := strings.Cut(string(text)[at:], "\n")
	return line
}

func (r *liveRete) exportSet(t *testing.T, node string) (file string) {
	t.Helper()
	file = filepath.Join(r.dir, node+".set")
	r.retectl("export-set", "--node", node, "--out", file)
	return file
}

// holding is what a node has accepted: a version, who signed it, and whom it
// believes from then on.
type holding struct {
	version  uint64
	signedBy string
	believes string
}

func (h holding) String() string {
	return fmt.Sprintf("version %d, signed by %s, believes %s", h.version, h.signedBy, h.believes)
}

// expect waits until the nodes that are there hold the version that they should,
// and compares what each has on its disk.
func (r *liveRete) expect(t *testing.T, when string, want map[string]holding) {
	t.Helper()
	got := map[string]holding{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		n, w := r.nodes[name], want[name]
		if n.agent != nil {
			n.await("at version "+strconv.FormatUint(w.version, 10), func(s control.StatusDoc) bool {
				return s.Set.Active >= w.version && s.Set.Pending == 0 && inStep(s)
			})
		}
		got[name] = n.holds(t)
		t.Logf("%s: %s has %v", when, name, got[name])
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(holding{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// inStep tells that the coordinator has answered, and had nothing newer.
func inStep(s control.StatusDoc) bool { return !s.LastContact.IsZero() && serving(s) }

// holds reads the node's active root from its disk.
func (n *liveNode) holds(t *testing.T) holding {
	t.Helper()
	mgmt := filepath.Join(n.dir, "state", "retes", "demo", "artifacts", "mgmt")
	current, err := os.ReadFile(filepath.Join(mgmt, "current"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(mgmt, "sets", strings.TrimSpace(string(current)), "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := envelope.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := schema.ParseAgent(root.Payload())
	if err != nil {
		t.Fatal(err)
	}
	var believes []string
	for _, e := range agent.Trust.Mgmt {
		believes = append(believes, filepath.Base(e.SPIFFEID))
	}
	return holding{root.Version, filepath.Base(root.Signature.KeyID), strings.Join(believes, " ")}
}

// expectRefused offers a node a set that the retired signer signed.
func (r *liveRete) expectRefused(t *testing.T, node, set string) {
	t.Helper()
	said, err := r.nodes[node].flor("agent", "sync", "--from", set)
	if err == nil {
		t.Errorf("%s took a set of the retired signer", node)
	}
	mustSay(t, said, "signer-retired")
}

func mustSay(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("not said: %q\nsaid:\n%s", w, said)
		}
	}
}
