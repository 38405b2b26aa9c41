package envelope

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the RFC 8785 form of one JSON text, any JSON value, after
// the checks of ENV-1 and ENV-7: so that two texts have one canonical form only
// when they mean the same (ENV-7). The text may be as large as an artifact.
//
// Every error is a [*Refusal].
func Canonical(text []byte) ([]byte, error) {
	text, err := withinLimit(text, MaxEnvelope)
	if err != nil {
		return nil, err
	}
	if err := strictScanner(text).whole(); err != nil {
		return nil, err
	}
	return canonicalValue(text)
}

// canonicalValue returns the RFC 8785 form of a value that was walked strictly.
func canonicalValue(value []byte) ([]byte, error) {
	form := jsontext.Value(bytes.Clone(value))
	// Duplicate names were refused by the walk; looking again is only slow.
	if err := form.Canonicalize(jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, syntax(err)
	}
	return form, nil
}

// canonical writes the RFC 8785 form of the artifact, with or without its
// signature. It composes what was parsed instead of walking the text again;
// the names are those of ENV-2, in the order of RFC 8785.
func (a Artifact) canonical(signed bool) []byte {
	dst := make([]byte, 0, len(a.raw))
	dst = appendText(append(dst, `{"generated_at":`...), a.GeneratedAt.Format(timeLayout))
	dst = appendText(append(dst, `,"name":`...), a.Name)
	dst = appendText(append(dst, `,"node":`...), a.Node)
	dst = append(append(dst, `,"payload":`...), a.canonicalPayload...)
	dst = a.appendPlane(append(dst, `,"plane":`...))
	dst = appendText(append(dst, `,"schema_version":`...), a.SchemaVersion)
	if signed {
		dst = a.Signature.appendCanonical(append(dst, `,"signature":`...))
	}
	dst = strconv.AppendUint(append(dst, `,"version":`...), a.Version, 10)
	return append(dst, '}')
}

func (a Artifact) appendPlane(dst []byte) []byte {
	if a.Plane == Mgmt {
		return appendText(dst, string(Mgmt))
	}
	dst = append(dst, `{"ctrl":{"obeys_mgmt_version":`...)
	dst = strconv.AppendUint(dst, a.ObeysMgmtVersion, 10)
	return append(dst, "}}"...)
}

func (s Signature) appendCanonical(dst []byte) []byte {
	dst = appendText(append(dst, `{"alg":`...), s.Alg)
	dst = appendText(append(dst, `,"key_id":`...), s.KeyID)
	dst = appendText(append(dst, `,"value":`...), s.Value)
	return append(dst, '}')
}

// appendText appends a JSON string in its canonical spelling.
func appendText(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // fails on invalid UTF-8 only, which no parsed string is
	return dst
}
