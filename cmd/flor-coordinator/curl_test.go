package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
)

// curl is a client that nobody here has written.
type curl struct {
	*running
	dir string // of files to upload
}

func newCurl(t *testing.T, r *running) curl {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	return curl{r, t.TempDir()}
}

// date is the one line that is not the same every time.
var date = regexp.MustCompile(`Date: [^\r]*`)

// says runs curl and gives every byte that came back, but for the date.
func (c curl) says(args ...string) string {
	c.t.Helper()
	out, err := c.start(args...)()
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// start starts curl and gives what waits for it.
func (c curl) start(args ...string) (wait func() (string, error)) {
	cmd := exec.CommandContext(c.t.Context(), "curl", append([]string{"-sS", "-i", "--path-as-is", "--max-time", "50"}, args...)...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err := cmd.Start()
	return func() (string, error) {
		if err != nil {
			return "", err
		}
		if err := cmd.Wait(); err != nil {
			return "", fmt.Errorf("%s: %w", cmd, err)
		}
		return date.ReplaceAllString(out.String(), "Date: today"), nil
	}
}

// file is an upload with this content.
func (c curl) file(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// huge is an upload of one byte more than may be published.
func (c curl) huge() string {
	c.t.Helper()
	path := c.file("huge", "")
	if err := os.Truncate(path, envelope.MaxSetPublish+1); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// raw is an answer as it stands on the wire: before and behind are the header lines
// that not all answers have, by where they stand.
func raw(status, body string, before, behind []string) string {
	lines := append([]string{"HTTP/1.1 " + status}, before...)
	lines = append(lines, "Cache-Control: no-store")
	if body != "" {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)), "Content-Type: application/json")
	}
	lines = append(append(lines, behind...), "Date: today")
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

func member(node, name string, version int, payload string) string {
	return fmt.Sprintf(`{"schema_version":"1.0","plane":"mgmt","version":%d,"node":%q,"name":%q,"payload":%s}`, version, node, name, payload)
}

func set(members ...string) string {
	return "{\"artifacts\":[\n" + strings.Join(members, ",\n") + "\n]}\n"
}

// CRD-1 to CRD-4, CRD-8: every row of both tables as curl shows it, byte for byte,
// on one coordinator, in an order in which each can be had.
func TestEveryRowByCurl(t *testing.T) {
	t.Parallel()
	c := newCurl(t, newPlace(t).start())
	fetch, publish := "http://"+c.listen.Sync+"/artifact/mgmt/", "http://"+c.listen.Publish+"/publish/mgmt"
	upload := func(file string) []string { return []string{"--data-binary", "@" + file, publish} }
	alpha, beta := member("alpha", "agent", 5, `{"a": 1}`), member("beta", "agent", 7, `{"b": 1}`)
	first := c.file("first", set(alpha, beta))
	newer := c.file("newer", set(member("alpha", "agent", 6, `{"a": 2}`), beta))
	alone := c.file("alone", set(beta))

	steps := []struct {
		name string
		args []string
		want string
	}{
		{"nothing published yet", []string{fetch + "alpha"},
			raw("503 Service Unavailable", `{"error":"not_published"}`, nil, []string{"Flor-Wait: 60", "Retry-After: 5"})},
		{"a publish is accepted", upload(first),
			raw("200 OK", `{"result":"accepted","nodes":2,"changed":["alpha","beta"]}`, nil, nil)},
		{"the same tree again", upload(first),
			raw("200 OK", `{"result":"unchanged","nodes":2,"changed":[]}`, nil, nil)},
		{"the set of a node", []string{fetch + "alpha"},
			raw("200 OK", set(alpha), nil, []string{"Flor-Set-Version: 5", "Flor-Wait: 60"})},
		{"the set for whom has another", []string{fetch + "alpha?have=4&wait=60"},
			raw("200 OK", set(alpha), nil, []string{"Flor-Set-Version: 5", "Flor-Wait: 60"})},
		{"its headers alone", []string{"--head", fetch + "alpha"},
			strings.TrimSuffix(raw("200 OK", set(alpha), nil, []string{"Flor-Set-Version: 5", "Flor-Wait: 60"}), set(alpha))},
		{"what the node has", []string{fetch + "alpha?have=5"},
			raw("304 Not Modified", "", nil, []string{"Flor-Wait: 60"})},
		{"a wait that is over", []string{fetch + "alpha?have=5&wait=1"},
			raw("304 Not Modified", "", nil, []string{"Flor-Wait: 60"})},
		{"a node that is not in the tree", []string{fetch + "gamma"},
			raw("404 Not Found", `{"error":"unknown_node"}`, nil, []string{"Flor-Wait: 60"})},
		{"a bad have", []string{fetch + "alpha?have=0"},
			raw("400 Bad Request", `{"error":"bad_request","reason":"FL3001 bad-query: have: want one number from 1 to 9007199254740991"}`, nil, []string{"Flor-Wait: 60"})},
		{"a bad wait", []string{fetch + "alpha?wait=5s"},
			raw("400 Bad Request", `{"error":"bad_request","reason":"FL3001 bad-query: wait: want one number from 0 to 4294967296"}`, nil, []string{"Flor-Wait: 60"})},
		{"a bad node", []string{fetch + "-alpha"},
			raw("400 Bad Request", `{"error":"bad_request","reason":"FL3001 bad-query: node: FL1013 unsafe-name: name \"-alpha\" must start with a letter or digit"}`, nil, []string{"Flor-Wait: 60"})},
		{"an unknown path", []string{fetch + "../x"},
			raw("404 Not Found", `{"error":"not_found"}`, nil, []string{"Flor-Wait: 60"})},
		{"a wrong method", []string{"-X", "DELETE", fetch + "alpha"},
			raw("405 Method Not Allowed", `{"error":"method_not_allowed"}`, []string{"Allow: GET, HEAD"}, []string{"Flor-Wait: 60"})},

		{"a structural fault", upload(c.file("rootless", set(member("alpha", "flor", 6, "{}")))),
			raw("400 Bad Request", `{"error":"malformed_tree","reason":"FL3105 no-root: alpha: no artifact is named \"agent\""}`, nil, nil)},
		{"a regression, and other bytes at an equal version", upload(c.file("older", set(member("alpha", "agent", 4, "{}"), member("beta", "agent", 7, "{}")))),
			raw("409 Conflict", `{"error":"version_conflict","nodes":[{"node":"alpha","stored":5,"offered":4},{"node":"beta","stored":7,"offered":7}]}`, nil, nil)},
		{"over the limit", []string{"-T", c.huge(), "-X", "POST", publish},
			strings.Replace(raw("413 Request Entity Too Large", `{"error":"too_large","reason":"FL3112 tree-too-large: a published tree has at most 268435456 bytes: split the rete"}`, nil, nil),
				"Date: today\r\n", "Date: today\r\nConnection: close\r\n", 1)},
		{"a publish of nothing", []string{publish},
			raw("405 Method Not Allowed", `{"error":"method_not_allowed"}`, []string{"Allow: POST"}, nil)},
		{"the other listener's path", []string{"http://" + c.listen.Publish + "/artifact/mgmt/alpha"},
			raw("404 Not Found", `{"error":"not_found"}`, nil, nil)},
	}
	for _, step := range steps {
		if diff := cmp.Diff(step.want, c.says(step.args...)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}

	for _, held := range []struct{ what, node, file, want string }{
		{"held until its version differs", "alpha?have=5&wait=60", newer,
			raw("200 OK", set(member("alpha", "agent", 6, `{"a": 2}`)), nil, []string{"Flor-Set-Version: 6", "Flor-Wait: 60"})},
		{"held until it leaves the tree", "alpha?have=6&wait=60", alone,
			raw("404 Not Found", `{"error":"unknown_node"}`, nil, []string{"Flor-Wait: 60"})},
	} {
		answer := c.start(fetch + held.node)
		c.awaitHeld(1)
		c.says(upload(held.file)...)
		got, err := answer()
		if diff := cmp.Diff(held.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", held.what, err, diff)
		}
	}
	c.refusesWhatCannotBeStored(upload(newer))
}

// refusesWhatCannotBeStored is the last row: the record cannot be replaced, so that
// nothing is, and what was served is served on.
func (c curl) refusesWhatCannotBeStored(upload []string) {
	c.t.Helper()
	floors := filepath.Join(c.state, "floors.json")
	if err := os.Remove(floors); err != nil {
		c.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(floors, "in the way"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	served := []string{"http://" + c.listen.Sync + "/artifact/mgmt/beta"}
	before, got := c.says(served...), c.says(upload...)
	head, body, _ := strings.Cut(got, "\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 507 Insufficient Storage\r\nCache-Control: no-store\r\nContent-Length: ") ||
		!strings.HasPrefix(body, `{"error":"not_stored","reason":"FL3121 not-stored: write floors.json: `) ||
		head+"\r\n\r\n"+body != raw("507 Insufficient Storage", body, nil, nil) {
		c.t.Errorf("what cannot be stored: %s", got)
	}
	if after := c.says(served...); after != before {
		c.t.Errorf("what was served has changed: %s", after)
	}
}
