package programsuite

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/florete/flor/conformance/internal/host"
)

// controlCases are about the control channel (SUP-11). A program that
// serves none leaves control and metrics out of its features.
func controlCases() []Case {
	return []Case{
		{"start/without-a-channel", "where no control channel can be had, it serves all the same", "SUP-11", checkNoChannelPossible},
		{"control/ready", "GET /v1/ready tells that it serves, and where", "SUP-11", checkReady},
		{"control/listens", "each address that it says it listens on takes connections", "SUP-11", checkListens},
		{"control/private", "the socket is for the program's own user", "SUP-11", checkChannelIsPrivate},
		{"control/unknown-path", "an unknown path is 404 with an error document", "SUP-11", checkUnknownPath},
		{"control/wrong-method", "a wrong method is 405 with an error document", "SUP-11", checkWrongMethod},
		{"control/bad-body", "a body that is no request is an error, and ends nothing", "SUP-11", checkBadBody},
		{"control/large-body", "a body of more than 64 KiB is an error", "SUP-11", checkLargeBody},
		{"control/dry-run", "a dry run says swapped or restart", "SUP-11", checkDryRunApply},
		{"control/apply", "an offer of the payload it runs on says swapped or restart, and it serves on", "SUP-11", checkApply},
		{"control/apply-missing", "an artifact that is not there is never swapped to", "SUP-11", checkApplyMissing},
		{"control/apply-broken", "an artifact that is broken is never swapped to", "SUP-11 ENV-2", checkApplyBroken},
		{"control/apply-foreign", "the artifact of another workload is never swapped to", "SUP-11", checkApplyForeign},
		{"control/apply-unservable", "a payload that it cannot serve is never swapped to", "SUP-11", checkApplyUnservable},
		{"control/drain", "it is drained within the time, and stops with exit 0 then", "SUP-4 SUP-11", checkDrain},
		{"control/idle-client", "a client that says nothing delays no other", "SUP-11", checkIdleClient},
		{"metrics/text", "GET /metrics answers with counters in OpenMetrics text", "SUP-11 OBS-6", checkMetrics},
	}
}

func checkNoChannelPossible(h *host.Host) {
	h.Vars["FLORWL_CONTROL_SOCKET"] = filepath.Join(h.Dir, "no", "such", "directory", "s")
	h.Stop(h.Serve())
}

// channel serves the program and returns what it says of its readiness.
func channel(h *host.Host) host.Readiness {
	h.Serve()
	return h.NeedsChannel("control")
}

func checkReady(h *host.Host) {
	channel(h)
	a := h.Call(http.MethodGet, "/v1/ready", "")
	for _, member := range []string{`"ready"`, `"listening"`, `"waiting"`} {
		if !strings.Contains(a.Body, member) {
			h.Fatalf("GET /v1/ready answered %s: the member %s is missing", a.Body, member)
		}
	}
	if r := h.StillServes("GET /v1/ready"); r.Listening == nil || r.Waiting == nil {
		h.Fatalf("GET /v1/ready answered %s: listening and waiting are lists, also where they are empty", a.Body)
	}
}

func checkListens(h *host.Host) {
	for _, address := range channel(h).Listening {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			h.Fatalf("it says that it listens on %s, and does not: %w", address, err)
		}
		_ = conn.Close()
	}
}

func checkChannelIsPrivate(h *host.Host) {
	channel(h)
	info, err := os.Stat(h.Socket())
	h.Check(err, "look at the socket")
	if mode := info.Mode().Perm(); mode != 0o600 {
		h.Fatalf("its control socket has mode %04o: 0600 keeps everybody else out", mode)
	}
}

// isError requires an error document.
func isError(h *host.Host, what string, a host.Answer, status int) {
	if a.Status < 400 || status != 0 && a.Status != status {
		h.Fatalf("%s is answered %d %s: it is an error", what, a.Status, a.Body)
	}
	if a.Error() == "" {
		h.Fatalf(`%s is answered %d %q: the body of an error is {"error":{"code","message"}}`, what, a.Status, a.Body)
	}
	h.StillServes(what)
}

func checkUnknownPath(h *host.Host) {
	channel(h)
	isError(h, "GET /v1/nothing", h.Call(http.MethodGet, "/v1/nothing", ""), http.StatusNotFound)
}

func checkWrongMethod(h *host.Host) {
	channel(h)
	isError(h, "DELETE /v1/ready", h.Call(http.MethodDelete, "/v1/ready", ""), http.StatusMethodNotAllowed)
}

func checkBadBody(h *host.Host) {
	channel(h)
	for _, body := range []string{"", "[]", `{"mgmt_artifact":1}`, `{"mgmt_artifact":"relative.json"}`, `{`} {
		isError(h, "POST /v1/apply "+body, h.Call(http.MethodPost, "/v1/apply", body), 0)
	}
}

func checkLargeBody(h *host.Host) {
	channel(h)
	const limit = 64 << 10
	body := fmt.Sprintf(`{%s"mgmt_artifact":%q,"dry_run":true}`, strings.Repeat(" ", limit), h.Vars["FLORWL_MGMT_ARTIFACT"])
	isError(h, "POST /v1/apply with more than 64 KiB", h.Call(http.MethodPost, "/v1/apply", body), 0)
}

// judged requires a verdict on an offer.
func judged(h *host.Host, what string, a host.Answer) {
	if result := a.Member("result"); a.Status != http.StatusOK || result != "swapped" && result != "restart" {
		h.Fatalf(`%s is answered %d %s: a good artifact is answered {"result":"swapped"} or {"result":"restart"}`, what, a.Status, a.Body)
	}
	h.StillServes(what)
}

func checkDryRunApply(h *host.Host) {
	channel(h)
	judged(h, "POST /v1/apply with dry_run", h.Apply(h.WriteArtifact(2, h.Artifact(2, h.Payload)), true))
}

func checkApply(h *host.Host) {
	channel(h)
	judged(h, "POST /v1/apply", h.Apply(h.WriteArtifact(2, h.Artifact(2, h.Payload)), false))
}

// notSwapped requires that an offer is not taken.
func notSwapped(h *host.Host, what string, a host.Answer) {
	if a.Member("result") == "swapped" {
		h.Fatalf("it says that it has swapped to %s: say restart, or that it is an error", what)
	}
	h.StillServes("an offer of " + what)
}

func checkApplyMissing(h *host.Host) {
	channel(h)
	notSwapped(h, "an artifact that is not there", h.Apply(h.Dir+"/none.json", false))
}

func checkApplyBroken(h *host.Host) {
	channel(h)
	notSwapped(h, "an artifact with an unknown member", h.Apply(h.WriteArtifact(2, replace("{", `{"extra":1,`)(h.Artifact(2, h.Payload))), false))
}

func checkApplyForeign(h *host.Host) {
	channel(h)
	notSwapped(h, "the artifact of another workload", h.Apply(h.WriteArtifact(2, h.ArtifactOf("stranger", 2, h.Payload)), false))
}

func checkApplyUnservable(h *host.Host) {
	channel(h)
	notSwapped(h, "a payload that is an array", h.Apply(h.WriteArtifact(2, h.Artifact(2, "[]")), false))
}

func checkDrain(h *host.Host) {
	p := h.Serve()
	h.NeedsChannel("control")
	a := h.Call(http.MethodPost, "/v1/drain", `{"within_ms":800}`)
	drained := a.Status == http.StatusOK && a.Member("result") == "drained"
	if !drained && a.Status < 400 {
		h.Fatalf(`POST /v1/drain is answered %d %s: it is {"result":"drained"}, or an error where the program has nothing to drain`, a.Status, a.Body)
	}
	h.Stop(p)
}

// checkIdleClient asks often beside requests that do not go on, because whether
// the program has taken one of those up is not to be seen.
func checkIdleClient(h *host.Host) {
	channel(h)
	const clients, asked = 4, 50
	for range clients {
		conn, err := net.Dial("unix", h.Socket())
		h.Check(err, "connect to the control channel")
		defer conn.Close()
		_, err = conn.Write([]byte("POST /v1/apply HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"))
		h.Check(err, "begin a request")
	}
	for range asked {
		h.StillServes("clients began requests and did not go on")
	}
}

func checkMetrics(h *host.Host) {
	h.Serve()
	h.NeedsChannel("metrics")
	a := h.Call(http.MethodGet, "/metrics", "")
	if a.Status != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(a.Body), "# EOF") {
		h.Fatalf("GET /metrics is answered %d %q: OpenMetrics text ends with # EOF; a program without counters leaves metrics out of --features", a.Status, a.Body[max(0, len(a.Body)-80):])
	}
}
