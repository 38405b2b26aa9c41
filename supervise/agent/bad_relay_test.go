package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/supervise/control"
)

// badRelay is one way in which a relay misbehaves towards a node whose active
// set has the version held, and what is to come of it.
type badRelay struct {
	name   string
	result control.Result
	reason string
	serve  func(w *world, held uint64) http.HandlerFunc
}

// serveSet answers with a set document.
func serveSet(version uint64, doc []byte) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Flor-Set-Version", strconv.FormatUint(version, 10))
		rw.Write(doc)
	}
}

// offering is a relay whose answer is the document that make makes.
func offering(make func(w *world, held uint64) [][]byte) func(*world, uint64) http.HandlerFunc {
	return func(w *world, held uint64) http.HandlerFunc {
		return serveSet(held+1, document(make(w, held)))
	}
}

// saying is a relay whose answer does not depend on what is held.
func saying(answer http.HandlerFunc) func(*world, uint64) http.HandlerFunc {
	return func(*world, uint64) http.HandlerFunc { return answer }
}

// plain is a set of one workload.
func (w *world) plain(version uint64) [][]byte { return w.set(version, noted(version)) }

func noted(version uint64) envelopetest.Member {
	return workloadOf("flor", behaviour{Note: tagOf(version)})
}

// badRelays are the relays of AGT-4.1 and AGT-4.2 that a node must bear.
var badRelays = []badRelay{
	{"a stale set", control.Refused, "replay", offering(func(w *world, held uint64) [][]byte { return w.plain(held - 1) })},
	{"a version far above", control.Refused, "version-jump", offering(func(w *world, held uint64) [][]byte { return w.plain(held + 1<<20 + 1) })},
	{"members of two sets", control.Refused, "wrong-version", offering(func(w *world, held uint64) [][]byte {
		return [][]byte{w.plain(held + 1)[0], w.plain(held + 2)[1]}
	})},
	{"an incomplete set", control.Refused, "missing-member", offering(func(w *world, held uint64) [][]byte { return w.plain(held + 1)[:1] })},
	{"a member that no inventory names", control.Refused, "unlisted-member", offering(func(w *world, held uint64) [][]byte {
		return append(w.plain(held+1), w.signer.Sign("alpha", "guest", held+1, behaviour{SchemaVersion: "1.0"}))
	})},
	{"the set of another node", control.Refused, "wrong-node", offering(func(w *world, held uint64) [][]byte {
		return w.setOf("beta", held+1, nil, noted(held+1))
	})},
	{"a signer of another CA under our signer's ID", control.Refused, "bad-signature", signedElsewhere("primary")},
	{"a signer of another CA", control.Refused, "bad-signer-cert", signedElsewhere("intruder")},
	{"one byte changed", control.Refused, "bad-signature", func(w *world, held uint64) http.HandlerFunc {
		return serveSet(held+1, forged(w.plain(held+1), `": "v`, `": "w`))
	}},
	{"the active version with other bytes", control.Refused, "equivocation", offering(func(w *world, held uint64) [][]byte {
		return w.set(held, workloadOf("flor", behaviour{Note: "other"}))
	})},
	{"two roots", control.Refused, "two-roots", offering(func(w *world, held uint64) [][]byte {
		set := w.plain(held + 1)
		return append(set, set[0])
	})},
	{"no root", control.Refused, "no-root", offering(func(w *world, held uint64) [][]byte { return w.plain(held + 1)[1:] })},
	{"10,000 members", control.Refused, "too-many-members", offering(func(w *world, held uint64) [][]byte {
		set := w.plain(held + 1)
		for len(set) < 10_000 {
			set = append(set, set[1])
		}
		return set
	})},
	{"a member named ..", control.Refused, "unsafe-name", func(w *world, held uint64) http.HandlerFunc {
		return serveSet(held+1, forged(w.plain(held+1), `"flor"`, `".."`))
	}},
	{"a payload that the vertex cannot serve", control.Refused, "unservable", offering(func(w *world, held uint64) [][]byte {
		return w.set(held+1, workloadOf("flor", behaviour{SchemaVersion: "1.1"}))
	})},
	{"a web page", control.Failed, "unexpected-answer", saying(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<html>log in to continue</html>")
	})},
	{"a redirect", control.Failed, "unexpected-answer", saying(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://elsewhere.example/", http.StatusFound)
	})},
	{"nothing under 200", control.Failed, "unexpected-answer", saying(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
	})},
	{"a set document without members", control.Failed, "unexpected-answer", offering(func(*world, uint64) [][]byte { return nil })},
	{"an announced body of 300 MB", control.Refused, "too-large", saying(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Content-Length", strconv.Itoa(300<<20))
		rw.WriteHeader(http.StatusOK)
	})},
	{"a body that does not end", control.Refused, "too-large", saying(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		for blank := bytes.Repeat([]byte(" "), 1<<20); ; {
			if _, err := rw.Write(blank); err != nil {
				return
			}
		}
	})},
	{"a reset after 64 KiB", control.Unreachable, "unreachable", resetAfter(1)},
	{"a reset after 128 KiB", control.Unreachable, "unreachable", resetAfter(2)},
	{"a reset after 192 KiB", control.Unreachable, "unreachable", resetAfter(3)},
}

// signedElsewhere is a relay with a set of a trust domain of our name that has
// another CA.
func signedElsewhere(signer string) func(*world, uint64) http.HandlerFunc {
	return offering(func(w *world, held uint64) [][]byte {
		other := envelopetest.NewAuthority("demo")
		foreign := &world{t: w.t, authority: other, signer: other.Signer(signer), socks: w.socks}
		return foreign.plain(held + 1)
	})
}

// forged is a set of whose last member a part has been replaced.
func forged(set [][]byte, old, replacement string) []byte {
	last := len(set) - 1
	set[last] = bytes.Replace(set[last], []byte(old), []byte(replacement), 1)
	return document(set)
}

// resetAfter is a relay whose connection is reset after so many pieces of
// 64 KiB of a set that has four.
func resetAfter(pieces int) func(*world, uint64) http.HandlerFunc {
	return func(w *world, held uint64) http.HandlerFunc {
		doc := document(w.set(held+1, workloadOf("flor", behaviour{Note: strings.Repeat("x", 256<<10)})))
		return func(rw http.ResponseWriter, _ *http.Request) {
			conn, buffered, err := http.NewResponseController(rw).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			fmt.Fprintf(buffered, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(doc))
			buffered.Write(doc[:pieces<<16])
			buffered.Flush()
			conn.(*net.TCPConn).SetLinger(0)
		}
	}
}

// AGT-4.1, AGT-4.2: each bad relay has its reason in result, status, log and
// counter, changes nothing on disk, in a dry run (AGT-6) and in earnest, and the
// next good set is applied.
func TestBadRelays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	w.goOn(c, 2)
	for i, tt := range badRelays {
		held := uint64(i + 2)
		before := w.digest()
		w.relay.tell(func(r *relay) { r.instead = tt.serve(w, held) })
		w.bear(c, tt, held, true)
		w.bear(c, tt, held, false)
		w.tellsTrouble(c, tt)
		if w.digest() != before {
			t.Errorf("%s: something has changed on disk", tt.name)
		}
		w.goOn(c, held+1)
	}
	t.Logf("bad relays: %d, each in a dry run and in earnest", len(badRelays))
}

// bear syncs with a bad relay.
func (w *world) bear(c *control.Client, tt badRelay, held uint64, dryRun bool) {
	w.t.Helper()
	got := w.sync(c, dryRun, nil)
	if got.Result != tt.result || got.Reason != tt.reason || got.Code == "" || got.Held != held {
		w.t.Errorf("%s: %s %s %s, held v%d, dry run %t: %s", tt.name, got.Result, got.Code, got.Reason, got.Held, dryRun, got.Message)
	}
}

// tellsTrouble checks that status, counter and log have the reason.
func (w *world) tellsTrouble(c *control.Client, tt badRelay) {
	w.t.Helper()
	doc := w.until(c, tt.name+" in status", func(doc control.StatusDoc) bool {
		return doc.LastSync != nil && doc.LastSync.Reason == tt.reason && len(doc.Health) > 0
	})
	if !strings.Contains(doc.Health[0], doc.LastSync.Message) {
		w.t.Errorf("%s: health %q does not tell %q", tt.name, doc.Health, doc.LastSync.Message)
	}
	page, err := c.Metrics(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if row := fmt.Sprintf(`flor_agent_sync_total{reason=%q,result=%q}`, tt.reason, tt.result); !bytes.Contains(page, []byte(row)) {
		w.t.Errorf("%s: no counter %s", tt.name, row)
	}
	w.log.await(w.t, "reason="+tt.reason)
}

// goOn has the relay publish a good set, which is applied.
func (w *world) goOn(c *control.Client, version uint64) {
	w.t.Helper()
	good := w.setOf("alpha", version, slowPoll, noted(version))
	w.relay.tell(func(r *relay) { r.instead = nil })
	w.relay.publish(version, good)
	if got := w.sync(c, false, nil); got.Result != control.Applied && got.Result != control.Unchanged {
		w.t.Fatalf("the good set v%d after it: %+v", version, got)
	}
	w.until(c, "all well", func(doc control.StatusDoc) bool {
		return settled(doc) && doc.Set.Mark == version && len(doc.Health) == 0
	})
}

// digest is that of everything below the state directory: names, modes, bytes.
func (w *world) digest() string {
	w.t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(w.layout.State, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %v\n", path, info.Mode())
		if !info.Mode().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%d\n%s", len(text), text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// AGT-4.1: an answer that stands still, or comes a byte at a time, ends the
// fetch and nothing else; what a person hands in does not wait for it (AGT-6). Each
// meets its own limit alone, for a busy machine has pauses of half a second, too.
func TestRelaysThatTakeTheirTime(t *testing.T) {
	t.Parallel()
	drip := func(piece string, pause time.Duration) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			beat := time.NewTicker(pause)
			defer beat.Stop()
			for {
				io.WriteString(rw, piece)
				http.NewResponseController(rw).Flush()
				select {
				case <-beat.C:
				case <-r.Context().Done():
					return
				}
			}
		}
	}
	tests := []badRelay{
		{"an answer that stands still", control.Unreachable, "unreachable", saying(drip("{", time.Hour))},
		{"a byte now and then", control.Unreachable, "too-slow", saying(drip(" ", 50*time.Millisecond))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, workloadOf("flor", behaviour{}))
			w.stall, w.fetchWithin = patience, 2*time.Second
			if tt.reason == "unreachable" {
				w.stall, w.fetchWithin = 2*time.Second, patience
			}
			c := w.start()
			w.until(c, "all up", settled)
			w.goOn(c, 2)
			before := w.digest()
			w.relay.tell(func(r *relay) { r.instead = tt.serve(w, 2) })
			w.bear(c, tt, 2, false)
			w.tellsTrouble(c, tt)
			if w.digest() != before {
				t.Error("something has changed on disk")
			}
			w.goOn(c, 3)
		})
	}
}

func TestAHandedInSetOvertakesASlowFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	release := w.relay.hold()
	fetches := w.relay.count()
	fetched := make(chan control.SyncResult, 1)
	go func() {
		got, _ := c.Sync(t.Context(), false, nil)
		fetched <- got
	}()
	w.relay.untilFetched(t, fetches+1)
	handedIn := w.sync(c, false, bytes.NewReader(document(w.plain(2))))
	if handedIn.Result != control.Applied {
		t.Errorf("handed in: %+v", handedIn)
	}
	w.relay.publish(2, w.plain(2))
	release()
	if got := <-fetched; got.Result != control.Unchanged || got.Held != 2 {
		t.Errorf("the fetch that gave way, done again: %+v", got)
	}
}

// AGT-4.1, SET-5: an active set that is damaged is asked for without "have"; a
// relay that calls it "not modified" all the same gives nothing, and is told.
func TestNotModifiedAlthoughNothingWasNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	damaged := filepath.Join(w.layout.RetesDir(), w.scope, "artifacts/mgmt/sets/v1/app.json")
	if err := os.WriteFile(damaged, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.relay.tell(func(r *relay) {
		r.instead = saying(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNotModified) })(w, 1)
	})
	c := w.start()
	w.until(c, "flor up, app not", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 2 && doc.Workloads[0].State == "up" && doc.Workloads[1].State == "unverified"
	})
	before := w.digest()
	bad := badRelay{"304", control.Failed, "unexpected-answer", nil}
	w.bear(c, bad, 1, false)
	if w.digest() != before {
		t.Error("something has changed on disk")
	}
	w.relay.tell(func(r *relay) { r.instead = nil })
	w.relay.publish(2, w.set(2, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{})))
	if got := w.sync(c, false, nil); got.Result != control.Applied && got.Result != control.Unchanged {
		t.Errorf("the next good set: %+v", got)
	}
	w.until(c, "all up", settled)
}

// AGT-4.2: the active version with the active content is unchanged, whoever
// sends it and however it is spelled, and nothing moves.
func TestTheSetThatIsActiveAlready(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	w.goOn(c, 2)
	same := document(w.setOf("alpha", 2, slowPoll, noted(2)))
	spaced := bytes.ReplaceAll(same, []byte(`":`), []byte(`" : `))
	for name, doc := range map[string][]byte{"as it is": same, "with other white space": spaced} {
		before := w.digest()
		w.relay.tell(func(r *relay) { r.instead = serveSet(2, doc) })
		got := w.sync(c, false, nil)
		if got.Result != control.Unchanged || got.Offered != 2 || got.Reason != "" || w.digest() != before {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
