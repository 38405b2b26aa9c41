package envelope

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// CheckSchemaVersion is the gate of ENV-14: it lets pass a schema_version of
// own's major at any minor up to own's. What names the thing that has the
// version, for the error. Refusals: [BadSchemaVersion], [SchemaTooNew] (the
// program must be upgraded), [SchemaTooOld] (the artifact must be made again).
func CheckSchemaVersion(what, version, own string) error {
	major, minor, ok := splitVersion(version)
	if !ok {
		return refuse(BadSchemaVersion, "schema_version %q of %s is not MAJOR.MINOR", clip(version), what)
	}
	ownMajor, ownMinor, _ := splitVersion(own)
	order := compareDecimals(major, ownMajor)
	switch {
	case order < 0:
		return refuse(SchemaTooOld, "%s has schema_version %s, this program reads %s: this artifact is too old, compile it again", what, clip(version), own)
	case order > 0 || compareDecimals(minor, ownMinor) > 0:
		return refuse(SchemaTooNew, "%s has schema_version %s, this program reads up to %s: upgrade this program", what, clip(version), own)
	}
	return nil
}

// splitVersion splits MAJOR.MINOR, both decimal without sign or leading zeros.
func splitVersion(version string) (major, minor string, ok bool) {
	major, minor, ok = strings.Cut(version, ".")
	return major, minor, ok && isDecimal(major) && isDecimal(minor)
}

func isDecimal(s string) bool {
	return s != "" && (s == "0" || s[0] != '0') && strings.IndexFunc(s, isNotDigit) < 0
}

// compareDecimals compares numbers by isDecimal of any length.
func compareDecimals(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// PeekSchemaVersions is the lenient look of ENV-14, for the error alone: it
// returns the schema_version of a text and that of its payload, each "" where
// it cannot be found, from texts that strict parsing refuses.
func PeekSchemaVersions(text []byte) (own, payload string) {
	own, value := peek(text)
	if value != nil {
		payload, _ = peek(value)
	}
	return own, payload
}

// peek reads the members schema_version and payload of an object, as far as
// the text can be read at all.
func peek(text []byte) (version string, payload []byte) {
	tokens := jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if tokens.PeekKind() != '{' {
		return "", nil
	}
	tokens.ReadToken()
	for tokens.PeekKind() == '"' {
		token, err := tokens.ReadToken()
		if err != nil {
			break
		}
		name := token.String()
		value, err := tokens.ReadValue()
		if err != nil {
			break
		}
		switch {
		case name == "schema_version" && value.Kind() == '"':
			version = unquote(value)
		case name == "payload":
			payload = bytes.Clone(value)
		}
	}
	return version, payload
}

// OrVersion returns the error of strict parsing, or in its place the refusal of
// the schema gate, where the version that [PeekSchemaVersions] found shows that
// the text was not understood because its schema is another (ENV-14).
func OrVersion(strict error, what, version, own string) error {
	gate := CheckSchemaVersion(what, version, own)
	switch reasonOf(gate) {
	case SchemaTooNew, SchemaTooOld:
		return gate
	default:
		return strict
	}
}
