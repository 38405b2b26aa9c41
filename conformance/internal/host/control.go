package host

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

const termination = syscall.SIGTERM

// answerIn is how long an answer may take here. An agent waits for 2 s (SUP-11);
// a machine that is busy with many cases at once gets more.
const answerIn = 10 * time.Second

// Readiness is what GET /v1/ready answers (SUP-11).
type Readiness struct {
	Ready     bool     `json:"ready"`
	Listening []string `json:"listening"`
	Waiting   []string `json:"waiting"`
}

// Answer is one of the control channel.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Member returns a string member of the answer's document, or nothing.
func (a Answer) Member(name string) string {
	var doc map[string]any
	if json.Unmarshal([]byte(a.Body), &doc) != nil {
		return ""
	}
	text, _ := doc[name].(string)
	return text
}

// Error returns the code of an error document, or nothing.
func (a Answer) Error() string {
	var doc struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal([]byte(a.Body), &doc) != nil || doc.Error.Message == "" {
		return ""
	}
	return doc.Error.Code
}

// Socket is the path of the control channel.
func (h *Host) Socket() string { return h.Vars["FLORWL_CONTROL_SOCKET"] }

// HasChannel tells whether somebody is at the control channel.
func (h *Host) HasChannel() bool {
	conn, err := net.Dial("unix", h.Socket())
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// Call makes one call of the control channel (SUP-11).
func (h *Host) Call(method, target, body string) Answer {
	a, err := h.call(method, target, body)
	h.Check(err, method+" "+target+" on FLORWL_CONTROL_SOCKET")
	return a
}

func (h *Host) call(method, target, body string) (Answer, error) {
	client := &http.Client{Timeout: answerIn, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", h.Socket())
		},
	}}
	req, err := http.NewRequestWithContext(h.Context(), method, "http://workload"+target, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Accept", "application/openmetrics-text, application/json;q=0.9")
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	const most = 16 << 20
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return Answer{resp.StatusCode, resp.Header, string(text)}, err
}

// Apply offers the artifact at a path.
func (h *Host) Apply(path string, dryRun bool) Answer {
	body, err := json.Marshal(map[string]any{"mgmt_artifact": path, "dry_run": dryRun})
	h.Check(err, "make a request")
	return h.Call(http.MethodPost, "/v1/apply", string(body))
}

// ready asks for readiness; answered is false where there is no answer to be had.
func (h *Host) ready() (r Readiness, answered bool) {
	if _, err := os.Lstat(h.Socket()); err != nil {
		return r, false
	}
	a, err := h.call(http.MethodGet, "/v1/ready", "")
	if err != nil || a.Status != http.StatusOK {
		return r, false
	}
	return r, json.Unmarshal([]byte(a.Body), &r) == nil
}

// NeedsChannel asks for readiness, and ends the case of a program that serves no
// control channel; feature is what it must not claim then.
func (h *Host) NeedsChannel(feature string) Readiness {
	r, answered := h.ready()
	if !answered {
		h.Fatalf("GET /v1/ready on FLORWL_CONTROL_SOCKET has no answer: serve it once the program serves, or leave %s out of --features%s", feature, without[feature])
	}
	return r
}

// without tells what a program does without that leaves a feature out.
var without = map[string]string{
	"control": ", whereupon each change restarts the program",
	"metrics": ": a program without a control channel has no counters to show",
	"drain":   ": a coordinator without a control channel is told to drain by SIGTERM alone",
}

// StillServes ends the case unless the program, which has served its control
// channel before, still says there that it is ready.
func (h *Host) StillServes(after string) Readiness {
	r, answered := h.ready()
	switch {
	case !answered:
		h.Fatalf("after %s GET /v1/ready has no answer any more within %s: go on to serve the control channel, each connection on its own", after, answerIn)
	case !r.Ready:
		h.Fatalf("after %s it is not ready any more", after)
	}
	return r
}
