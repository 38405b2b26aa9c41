package programsuite

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/florete/flor/conformance/internal/host"
	"github.com/florete/flor/envelope"
)

// artifactCases are about what a program must not serve: it exits with 78.
func artifactCases() []Case {
	rows := []Case{
		{"artifact/unset", "without FLORWL_MGMT_ARTIFACT it exits 78", "SUP-1 SUP-3", checkArtifactUnset},
		{"artifact/missing", "an artifact that is not there is exit 78", "SUP-3", checkArtifactMissing},
		{"artifact/directory", "a directory in place of the artifact is exit 78", "SUP-3", checkArtifactDirectory},
		{"artifact/endless", "a file without end in place of the artifact is exit 78, in bounded memory", "SUP-3 ENV-1", checkArtifactEndless},
	}
	for _, b := range brokenArtifacts {
		rows = append(rows, Case{"artifact/" + b.name, b.title + " is exit 78", "SUP-3 " + b.rules, func(h *host.Host) {
			h.SetArtifact(b.broken(h.Artifact(1, h.Payload)))
			h.Refused(h.Start(), b.title)
		}})
	}
	for _, b := range brokenPayloads {
		rows = append(rows, Case{"payload/" + b.name, b.title + " is exit 78", "SUP-3 ENV-15", func(h *host.Host) {
			h.SetArtifact(h.Artifact(1, b.broken(h.Payload)))
			h.Refused(h.Start(), b.title)
		}})
	}
	return append(rows, checkCases()...)
}

// brokenArtifacts are ways in which a good artifact can be broken.
var brokenArtifacts = []struct {
	name, title, rules string
	broken             func(good []byte) []byte
}{
	{"empty", "an empty artifact", "ENV-1", func([]byte) []byte { return nil }},
	{"half", "half an artifact", "ENV-1", func(good []byte) []byte { return good[:len(good)/2] }},
	{"zeros", "an artifact of zero bytes, as a crash leaves it", "ENV-1", func(good []byte) []byte { return make([]byte, len(good)) }},
	{"array", "an array in place of the artifact", "ENV-2", func(good []byte) []byte { return append(append([]byte("["), good...), ']') }},
	{"two", "two artifacts in one file", "ENV-1", func(good []byte) []byte { return append(append([]byte{}, good...), good...) }},
	{"unknown-member", "an artifact with an unknown member", "ENV-2", replace("{", `{"extra":1,`)},
	{"missing-member", "an artifact without its name", "ENV-2", replace(`"name"`, `"nome"`)},
	{"duplicate-member", "an artifact with its node twice", "ENV-1", replace("{", `{"node":"alpha",`)},
	{"null-payload", "an artifact whose payload is null", "ENV-5", nullPayload},
	{"newer-major", "an artifact of a newer major", "ENV-14", replace(`"1.0"`, `"2.0"`)},
	{"newer-minor", "an artifact of a newer minor", "ENV-14", replace(`"1.0"`, `"1.1"`)},
	{"older-major", "an artifact of an older major", "ENV-14", replace(`"1.0"`, `"0.9"`)},
	{"too-large", "an artifact of more than 4 MiB", "ENV-1", tooLarge},
}

// replace replaces the first text in an artifact.
func replace(old, new string) func([]byte) []byte {
	return func(good []byte) []byte { return bytes.Replace(good, []byte(old), []byte(new), 1) }
}

func nullPayload(good []byte) []byte {
	a, err := envelope.Parse(good)
	if err != nil {
		return good
	}
	return bytes.Replace(good, a.Payload(), []byte("null"), 1)
}

// tooLarge makes white space inside of the artifact, which counts.
func tooLarge(good []byte) []byte {
	return bytes.Replace(good, []byte("{"), append([]byte("{"), bytes.Repeat([]byte(" "), envelope.MaxEnvelope)...), 1)
}

// brokenPayloads are ways in which the program's own payload can be broken, for
// programs that read theirs strictly.
var brokenPayloads = []struct {
	name, title string
	broken      func(good string) string
}{
	{"unknown-member", "a payload with an unknown member", func(good string) string { return withMember(good, `"conformance_unknown":1`) }},
	{"array", "an array in place of the payload", func(string) string { return "[]" }},
	{"text", "a string in place of the payload", func(string) string { return `"payload"` }},
	{"values", "a payload whose values are all of another type", otherTypes},
}

// withMember adds a member to an object.
func withMember(object, member string) string {
	head, rest, _ := strings.Cut(object, "{")
	if strings.HasPrefix(strings.TrimSpace(rest), "}") {
		return head + "{" + member + rest
	}
	return head + "{" + member + "," + rest
}

// otherTypes makes every value of an object a list of lists. An object without
// members gets one, which is unknown to the program.
func otherTypes(object string) string {
	var members map[string]any
	if json.Unmarshal([]byte(object), &members) != nil || len(members) == 0 {
		return `{"conformance_unknown":[[]]}`
	}
	for name := range members {
		members[name] = [][]int{{}}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return "[]"
	}
	return string(text)
}

func checkArtifactUnset(h *host.Host) {
	h.Vars["FLORWL_MGMT_ARTIFACT"] = ""
	h.Refused(h.Start(), "FLORWL_MGMT_ARTIFACT unset")
}

func checkArtifactMissing(h *host.Host) {
	h.Check(os.Remove(h.Vars["FLORWL_MGMT_ARTIFACT"]), "remove the artifact")
	h.Refused(h.Start(), "an artifact that is not there")
}

func checkArtifactDirectory(h *host.Host) {
	h.Vars["FLORWL_MGMT_ARTIFACT"] = h.Mkdir("sets/v3/dir.json")
	h.Refused(h.Start(), "a directory in place of the artifact")
}

func checkArtifactEndless(h *host.Host) {
	path := filepath.Join(h.Mkdir("sets/v3"), "endless.json")
	h.Check(os.Symlink("/dev/zero", path), "make a file without end")
	h.Vars["FLORWL_MGMT_ARTIFACT"] = path
	h.Refused(h.Start(), "an artifact without end")
}

// checkCases are about --check, which executables have that ship with flor.
func checkCases() []Case {
	return []Case{
		{"check/good", "--check of a good artifact is exit 0, and neither serves nor writes", "AGT-4", checkJudgesGood},
		{"check/bad-payload", "--check of what it cannot serve is exit 78, with words", "AGT-4", checkJudgesBadPayload},
		{"check/bad-artifact", "--check of what is no artifact is exit 78, with words", "AGT-4", checkJudgesBadArtifact},
	}
}

func checkJudgesGood(h *host.Host) {
	before := len(tree(h)) + 1 // the working directory
	p := h.Start("--check", h.Vars["FLORWL_MGMT_ARTIFACT"])
	if ending, ended := p.EndsIn(host.Grace); !ended || ending.Code != 0 {
		h.Fatalf("--check of a good artifact: %s, ended %v; it must exit 0 within 10 s, or leave check out of --features", ending, ended)
	}
	if after := len(tree(h)); after != before {
		h.Fatalf("--check left files behind: %d where there were %d; it must judge and touch nothing", after, before)
	}
}

func checkJudgesBadPayload(h *host.Host) {
	judgesBad(h, h.Artifact(1, withMember(h.Payload, `"conformance_unknown":1`)), "a payload with an unknown member")
}

func checkJudgesBadArtifact(h *host.Host) {
	judgesBad(h, []byte("{}"), "what is no artifact")
}

func judgesBad(h *host.Host, artifact []byte, what string) {
	h.Vars["FLORWL_LOG_SINK"] = "" // by SUP-1 its words go to plain standard error
	p := h.Start("--check", h.WriteArtifact(2, artifact))
	h.Refused(p, "--check of "+what)
	if strings.TrimSpace(p.Said()) == "" {
		h.Fatalf("--check of %s says nothing: its words are what an operator reads as the reason", what)
	}
}
