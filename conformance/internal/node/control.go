package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Status is the part of the status document that cases look at (AGT-9).
type Status struct {
	Scope       string `json:"scope"`
	Node        string `json:"node"`
	TrustDomain string `json:"trust_domain"`
	Agent       struct {
		PID int `json:"pid"`
	} `json:"agent"`
	Set struct {
		Active    uint64   `json:"active"`
		Mark      uint64   `json:"mark"`
		Pending   uint64   `json:"pending"`
		Retained  []uint64 `json:"retained"`
		Recovered bool     `json:"recovered"`
		TrustLost bool     `json:"trust_state_lost"`
	} `json:"set"`
	Workloads   []Workload `json:"workloads"`
	LastSync    *Result    `json:"last_sync"`
	OlderOffers int        `json:"older_offers"`
	Health      []string   `json:"health"`
}

// Workload is one of the status document.
type Workload struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	PID      int    `json:"pid"`
	Set      uint64 `json:"set"`
	Via      string `json:"via"`
	Restarts int    `json:"restarts"`
	LastExit *struct {
		Code   int    `json:"code"`
		Signal string `json:"signal"`
	} `json:"last_exit"`
	Reason string `json:"reason"`
}

// Of is the workload of a name, or one without a state.
func (s Status) Of(name string) Workload {
	for _, w := range s.Workloads {
		if w.Name == name {
			return w
		}
	}
	return Workload{}
}

// Result is a sync's (AGT-9).
type Result struct {
	Result    string `json:"result"`
	Reason    string `json:"reason"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	Trigger   string `json:"trigger"`
	Held      uint64 `json:"held"`
	Offered   uint64 `json:"offered"`
	DryRun    bool   `json:"dry_run"`
	Workloads []struct {
		Name   string `json:"name"`
		Action string `json:"action"`
	} `json:"workloads"`
}

// Answer is what the control socket said.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Error is the code of an error document.
func (a Answer) Error() string {
	var doc struct {
		Error struct {
			Code, Message string
		}
	}
	if json.Unmarshal([]byte(a.Body), &doc) != nil || doc.Error.Message == "" {
		return ""
	}
	return doc.Error.Code
}

// Socket is the path of the control socket.
func (n *Node) Socket() string { return n.RuntimePath("agent.sock") }

// RuntimePath is the path of a file in the runtime root.
func (n *Node) RuntimePath(name string) string { return filepath.Join(n.Runtime, n.Scope, name) }

// unixClient calls an HTTP server on a unix socket, a connection each.
func unixClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
}

// Call makes one call on the control socket.
func (n *Node) Call(method, target string, body []byte) Answer {
	a, err := call(n.t.Context(), n.Socket(), method, target, body)
	n.t.Check(err, method+" "+target+" on the control socket")
	return a
}

func call(ctx context.Context, socket, method, target string, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://flor"+target, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	resp, err := unixClient(socket).Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return Answer{resp.StatusCode, resp.Header, string(text)}, err
}

// Status asks for the status document.
func (n *Node) Status() Status {
	s, err := n.status()
	n.t.Check(err, "GET /v1/status on the control socket")
	return s
}

func (n *Node) status() (Status, error) {
	var s Status
	a, err := call(n.t.Context(), n.Socket(), http.MethodGet, "/v1/status", nil)
	if err != nil {
		return s, err
	}
	n.t.Served()
	if a.Status != http.StatusOK {
		return s, errors.New(a.Body)
	}
	return s, json.Unmarshal([]byte(a.Body), &s)
}

// Until waits until the status is as the words say.
func (n *Node) Until(words string, so func(Status) bool) Status {
	var last Status
	n.Agent.Await(words, func() bool {
		s, err := n.status()
		last = s
		return err == nil && so(s)
	})
	return last
}

// Sync asks for a sync and returns its result. A document, if any, is offered;
// else one is fetched.
func (n *Node) Sync(document []byte) Result { return n.sync("/v1/sync", document) }

// DryRun is Sync that changes nothing.
func (n *Node) DryRun(document []byte) Result { return n.sync("/v1/sync?dry_run=1", document) }

func (n *Node) sync(target string, document []byte) Result {
	a := n.Call(http.MethodPost, target, document)
	if a.Status != http.StatusOK {
		n.t.Fatalf("POST %s is answered %d %s; it must be 200 with the result", target, a.Status, strings.TrimSpace(a.Body))
	}
	var r Result
	n.t.Check(json.Unmarshal([]byte(a.Body), &r), "read the result of a sync")
	return r
}

// Watch follows the status, a line at once and one at each change.
func (n *Node) Watch() *json.Decoder {
	conn, err := net.Dial("unix", n.Socket())
	n.t.Check(err, "connect to the control socket")
	n.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	req, err := http.NewRequest(http.MethodGet, "http://flor/v1/status?watch=1", nil)
	n.t.Check(err, "make a request")
	resp, err := (&http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}}).Do(req)
	n.t.Check(err, "GET /v1/status?watch=1")
	n.t.Cleanup(func() { _ = resp.Body.Close() })
	return json.NewDecoder(resp.Body)
}

// TrySync is Sync of a fetched set that may come to nothing, as when the agent
// is killed meanwhile. Unlike all else it may be called from any goroutine.
func (n *Node) TrySync() (Result, error) { return n.TrySyncWith(nil) }

// TrySyncWith is TrySync that offers a document.
func (n *Node) TrySyncWith(document []byte) (Result, error) {
	var r Result
	a, err := call(n.t.Context(), n.Socket(), http.MethodPost, "/v1/sync", document)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(a.Body), &r)
}

// ServeChannel serves a workload's control channel in its place (SUP-11).
func (n *Node) ServeChannel(socket string, h http.HandlerFunc) {
	l, err := net.Listen("unix", socket)
	n.t.Check(err, "listen in a workload's place")
	n.t.Check(os.Chmod(socket, 0o600), "listen in a workload's place")
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	n.t.Cleanup(func() { _ = server.Close(); <-ended })
}
