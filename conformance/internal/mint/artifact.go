package mint

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// signatureMark stands in an artifact's text for the value that signing brings.
const signatureMark = "@signature@"

// Artifact is an artifact that a vector is made of, good or bad: its members
// as JSON texts.
type Artifact struct {
	SchemaVersion, Plane, Version, Node, Name, GeneratedAt, Payload string

	By         *Identity
	Alg, KeyID string // JSON strings

	edits  []edit              // of the text, before it is signed
	late   []edit              // of the text, after it was signed
	signed func([]byte) []byte // what is signed instead of the careless reading
}

// edit changes a text; it panics where it finds nothing to change.
type edit func(string) string

// newArtifact is a good artifact.
func newArtifact(node, name string, version uint64, payload string, by *Identity) *Artifact {
	return &Artifact{
		SchemaVersion: `"1.0"`, Plane: `"mgmt"`, Version: fmt.Sprint(version),
		Node: quote(node), Name: quote(name), GeneratedAt: quote(Now), Payload: payload,
		By: by, Alg: `"ed25519"`, KeyID: quote(by.ID),
	}
}

// Text writes and signs the artifact.
func (a *Artifact) Text() string {
	text := a.unsigned()
	for _, change := range a.edits {
		text = change(text)
	}
	if strings.Contains(text, signatureMark) {
		text = strings.ReplaceAll(text, signatureMark, a.signature(text))
	}
	for _, change := range a.late {
		text = change(text)
	}
	return text
}

func (a *Artifact) unsigned() string {
	var text strings.Builder
	text.WriteString("{\n")
	for _, m := range [][2]string{
		{"schema_version", a.SchemaVersion}, {"plane", a.Plane}, {"version", a.Version}, {"node", a.Node},
		{"name", a.Name}, {"generated_at", a.GeneratedAt}, {"payload", a.Payload},
	} {
		fmt.Fprintf(&text, "  %q: %s,\n", m[0], m[1])
	}
	fmt.Fprintf(&text, `  "signature": {"alg": %s, "key_id": %s, "value": "%s"}`+"\n}", a.Alg, a.KeyID, signatureMark)
	return text.String()
}

// signature signs the careless reading of a text.
func (a *Artifact) signature(text string) string {
	form := carelessForm([]byte(text))
	if a.signed != nil {
		form = a.signed(form)
	}
	return base64.StdEncoding.EncodeToString(must(a.By.Key.Sign(nil, form, crypto.Hash(0))))
}

// carelessForm is the RFC 8785 form, without signature, of what a reader sees
// that takes the last of two members of one name, replaces what is not UTF-8,
// and reads every number as a double. Where not even that reader understands a
// text, its bytes are signed.
func carelessForm(text []byte) []byte {
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return text
	}
	delete(members, "signature")
	form := jsontext.Value(must(json.Marshal(members)))
	if err := form.Canonicalize(); err != nil {
		panic(err)
	}
	return form
}

// before adds an edit of the text that is signed.
func (a *Artifact) before(change edit) *Artifact {
	a.edits = append(a.edits, change)
	return a
}

// after adds an edit of the text that was signed.
func (a *Artifact) after(change edit) *Artifact {
	a.late = append(a.late, change)
	return a
}

func replace(old, new string) edit {
	return func(text string) string {
		if !strings.Contains(text, old) {
			panic(fmt.Sprintf("%q is not in %s", old, text))
		}
		return strings.Replace(text, old, new, 1)
	}
}

// without takes a member out, with its comma.
func without(name string) edit {
	return func(text string) string {
		var kept []string
		for _, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, fmt.Sprintf("  %q:", name)) {
				kept = append(kept, line)
			}
		}
		text = strings.Join(kept, "\n")
		return strings.Replace(text, ",\n}", "\n}", 1)
	}
}

// compact takes all white space out that means nothing.
func compact(text string) string {
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		panic(err)
	}
	return out.String()
}

// quote is a text as a JSON string.
func quote(text string) string {
	return string(must(jsontext.AppendQuote(nil, text)))
}

// object writes a value as JSON without escaping what HTML would not like.
func object(value any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
