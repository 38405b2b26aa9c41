package main

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/supervise/control"
)

// TestDryRunOfBadRelays shows the verdicts of a dry run: exit code 1 for what is
// refused, 3 for what could not be done (AGT-6, AGT-10).
func TestDryRunOfBadRelays(t *testing.T) {
	t.Parallel()
	i, r, from := newStation(t), newRete("demo"), newCoordinator(t)
	set := func(version uint64, payload string) [][]byte {
		return via(r, from.addr, version, payload)
	}
	i.enrol(r.bundleOf(set(5, "1.0")))
	from.publish(5, document(set(5, "1.0")))
	i.start()
	i.until("contact", func(doc control.StatusDoc) bool { return !doc.LastContact.IsZero() && doc.Workloads[0].PID != 0 })
	good := set(6, "1.0")
	answer := func(doc []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(doc)
		}
	}
	tests := []struct {
		name, words string
		code        int
		answer      http.HandlerFunc
	}{
		{"a good set", "would apply v6 over v5", 0, answer(document(good))},
		{"the set that is active", "unchanged: v5", 0, answer(document(set(5, "1.0")))},
		{"a stale set", "refused: FL1401 replay: ", 1, answer(document(set(4, "1.0")))},
		{"one byte changed", "refused: FL1104 bad-signature: ", 1, answer(bytes.Replace(document(good), []byte(`"udp"`), []byte(`"tcp"`), 1))},
		{"a version far above", "refused: FL1402 version-jump: ", 1, answer(document(set(6+1<<20, "1.0")))},
		{"the active version with other content", "refused: FL1403 equivocation: ", 1, answer(document(set(5, "1.1")))},
		{"members of two sets", "wrong-version: ", 1, answer(document([][]byte{good[0], set(7, "1.0")[1]}))},
		{"the set of another node", "wrong-node: ", 1, answer(document([][]byte{r.signer.Sign("beta", envelope.AgentName, 6, r.agent())}))},
		{"two roots", "two-roots: ", 1, answer(document(append(slices.Clone(good), good[0])))},
		{"no root", "no-root: ", 1, answer(document(good[1:]))},
		{"10,000 members", "too-many-members: ", 1, answer(document(slices.Repeat(good, 5000)))},
		{"a member named ..", "unsafe-name: ", 1, answer(bytes.ReplaceAll(document(good), []byte(`"flor"`), []byte(`".."`)))},
		{"an incomplete set", "missing-member: ", 1, answer(document(good[:1]))},
		{"a foreign signer", "refused: FL1104 bad-signature: ", 1, answer(document(via(newRete("demo"), from.addr, 6, "1.0")))},
		{"a payload of a newer minor", "refused: FL1404 unservable: ", 1, answer(document(set(6, "1.1")))},
		{"300 MB", "too-large: ", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(300<<20))
			w.WriteHeader(http.StatusOK)
		}},
		{"a body that does not end", "too-large: ", 1, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for noise := bytes.Repeat([]byte(" "), 1<<20); ; {
				if _, err := w.Write(noise); err != nil {
					return
				}
			}
		}},
		{"a reset after 64 KiB", "unreachable: ", 3, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(1<<20))
			w.Write(bytes.Repeat([]byte(" "), 64<<10))
			panic(http.ErrAbortHandler)
		}},
		{"a web page", "failed: ", 3, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }},
		{"a relay that has nothing", "unreachable: FL1409 not-published: ", 3, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"error":"not_published"}`)
		}},
		{"a connection that breaks", "unreachable: ", 3, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	}
	for _, tt := range tests {
		t.Log(tt.name)
		from.tell(func(c *coordinator) { c.instead = tt.answer })
		i.says(tt.code, tt.words, "agent", "sync", "--dry-run")
	}
}

// via is a set of alpha that syncs through addr and, on its own, once an hour.
func via(r rete, addr string, version uint64, payload string) [][]byte {
	texts := r.set(version, payload)
	agent := r.agent()
	agent.Inbounds[0].Via.Addr = addr
	texts[0] = r.signer.Sign("alpha", "agent", version, agent)
	return texts
}
