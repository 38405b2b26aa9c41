package service

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func oddSettings() Settings {
	s := userSettings(`/Users/al & bob <x>/.local`)
	s.Environment = []string{"FLOR_STATE_HOME=/Users/al & bob <x>/state", "ODD=a=b"}
	return s
}

// TestPlistSaysWhatTheAgentNeeds reads a property list as a parser of them does
// (INS-2).
func TestPlistSaysWhatTheAgentNeeds(t *testing.T) {
	t.Parallel()
	s := oddSettings()
	text, err := renderPlist(s, "my-rete")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"Label":             "io.github.florete.flor-agent.my-rete",
		"ProgramArguments":  []any{s.Prefix + "/bin/flor", "agent", "run", "--rete", "my-rete", "--log-stderr"},
		"RunAtLoad":         true,
		"KeepAlive":         map[string]any{"SuccessfulExit": false},
		"ThrottleInterval":  10.0,
		"ExitTimeOut":       90.0,
		"StandardOutPath":   s.Layout.State + "/log/my-rete.log",
		"StandardErrorPath": s.Layout.State + "/log/my-rete.log",
		"EnvironmentVariables": map[string]any{
			"FLOR_STATE_HOME": "/Users/al & bob <x>/state", "ODD": "a=b",
		},
	}
	if diff := cmp.Diff(want, readPlist(t, text)); diff != "" {
		t.Errorf("the property list (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, pythonReads(t, text)); diff != "" {
		t.Errorf("the property list as Python reads it (-want +got):\n%s", diff)
	}
}

func TestPlistOfSystemModeNamesTheAccount(t *testing.T) {
	t.Parallel()
	text, err := renderPlist(systemSettings("/usr/local"), "demo")
	if err != nil {
		t.Fatal(err)
	}
	list := readPlist(t, text).(map[string]any)
	if list["UserName"] != "flor" || list["GroupName"] != "flor" {
		t.Errorf("the agent runs as %v:%v", list["UserName"], list["GroupName"])
	}
}

// pythonReads has an independent parser read it, where there is one.
func pythonReads(t *testing.T, text []byte) any {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Logf("not read by Python: %v", err)
		return readPlist(t, text)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c",
		"import json, plistlib, sys; json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)")
	cmd.Stdin = strings.NewReader(string(text))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	var value any
	if err := json.Unmarshal(out, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// readPlist parses a property list strictly, into the values that JSON has.
func readPlist(t *testing.T, text []byte) any {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(text)))
	if start := nextStart(t, d); start.Name.Local != "plist" {
		t.Fatalf("the document element is %s", start.Name.Local)
	}
	value := readElement(t, d, nextStart(t, d))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return value
		}
		if _, more := token.(xml.StartElement); err != nil || more {
			t.Fatalf("after the value: %v, %v", token, err)
		}
	}
}

// nextStart is the next element, nil-named where the one around it ends.
func nextStart(t *testing.T, d *xml.Decoder) xml.StartElement {
	t.Helper()
	for {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			return token
		case xml.EndElement:
			return xml.StartElement{}
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" {
				t.Fatalf("text between elements: %q", token)
			}
		}
	}
}

func readElement(t *testing.T, d *xml.Decoder, start xml.StartElement) any {
	t.Helper()
	switch start.Name.Local {
	case "dict":
		return readDict(t, d)
	case "array":
		items := []any{}
		for next := nextStart(t, d); next.Name.Local != ""; next = nextStart(t, d) {
			items = append(items, readElement(t, d, next))
		}
		return items
	}
	var text string
	if err := d.DecodeElement(&text, &start); err != nil {
		t.Fatal(err)
	}
	switch start.Name.Local {
	case "string":
		return text
	case "true", "false":
		return start.Name.Local == "true"
	case "integer":
		var n float64
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Fatalf("an element %s", start.Name.Local)
	return nil
}

func readDict(t *testing.T, d *xml.Decoder) map[string]any {
	t.Helper()
	dict := map[string]any{}
	for start := nextStart(t, d); start.Name.Local != ""; start = nextStart(t, d) {
		var key string
		if start.Name.Local != "key" {
			t.Fatalf("a %s where a key is due", start.Name.Local)
		}
		if err := d.DecodeElement(&key, &start); err != nil {
			t.Fatal(err)
		}
		dict[key] = readElement(t, d, nextStart(t, d))
	}
	return dict
}
