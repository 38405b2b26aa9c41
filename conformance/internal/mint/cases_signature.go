package mint

import (
	"crypto/sha512"
	"slices"
	"strings"
)

// numberVectors are about ENV-7: what a number may look like.
func (w *world) numberVectors() []Vector {
	var rows []setRow
	for _, good := range []struct{ name, title, text string }{
		{"exponent", "1e2 is 100", "1e2"},
		{"exponent-signed", "1E+2 is 100", "1E+2"},
		{"point-zero", "1.0 is 1", "1.0"},
		{"tenth", "0.1 is written as it is", "0.1"},
		{"zero-point-zero", "0.0 is 0", "0.0"},
		{"zero-to-any-power", "0 to a power that no double has is 0", "0e999999"},
		{"2-53", "2^53 is exact", "9007199254740992"},
		{"largest", "the largest double", "1.7976931348623157e308"},
		{"smallest", "the smallest double", "5e-324"},
		{"twenty-digits", "an integer beyond 2^53 that is its own shortest spelling", "123456789012345680000"},
		{"trailing-zeros", "zeros at the end of a fraction", "1.500000000000000000000000000000"},
	} {
		rows = append(rows, setRow{good.name, good.title, "", "ENV-7", edgePayload(`{"n": ` + good.text + `}`)})
	}
	for _, bad := range []struct{ name, title, text string }{
		{"2-53-plus-1", "2^53+1 becomes 2^53", "9007199254740993"},
		{"too-large", "a number that no double holds", "1e400"},
		{"too-small", "a number that becomes 0", "1e-400"},
		{"minus-zero", "negative zero becomes 0", "-0"},
		{"minus-zero-point", "negative zero with a fraction", "-0.0"},
		{"tenth-and-more", "0.1 with digits that get lost", "0.1000000000000000055"},
		{"seventeen-digits", "a digit more than the shortest spelling has", "333333333.33333329"},
		{"below-smallest", "a number that becomes the smallest double", "4.9e-324"},
		{"long-integer", "an integer that loses its last digit", "123456789012345678901"},
	} {
		rows = append(rows, setRow{bad.name, bad.title, "FL1015 inexact-number", "ENV-7", edgePayload(`{"n": ` + bad.text + `}`)})
	}
	return w.setRows("number", rows)
}

// signatureVectors are about ENV-6 and ENV-11.
func (w *world) signatureVectors() []Vector {
	return w.setRows("signature", slices.Concat(
		unsignedChanges(), signatureForms(), w.signatureNames(), alterations(), w.wrongSignatures()))
}

// respelled changes how the workload's signature is spelled.
func respelled(change func(string) string) func(*set) {
	return edge(func(a *Artifact) { a.after(respell(change)) })
}

// rebuilt changes the bytes of the workload's signature.
func rebuilt(change func([]byte) []byte) func(*set) {
	return edge(func(a *Artifact) { a.after(rebytes(change)) })
}

// signedOver has something else signed than the canonical form.
func signedOver(change func([]byte) []byte) func(*set) {
	return edge(func(a *Artifact) { a.signed = change })
}

func unsignedChanges() []setRow {
	return []setRow{
		{"altered-by-order", "the order of a payload's members is not signed", "", "ENV-6 ENV-8", edge(func(a *Artifact) {
			a.Payload = `{"b": 1, "a": 2}`
			a.after(replace(`{"b": 1, "a": 2}`, `{"a": 2, "b": 1}`))
		})},
		{"altered-by-spelling", "how a number or a string is spelled is not signed", "", "ENV-6 ENV-7", edge(func(a *Artifact) {
			a.Payload = `{"a": 100, "b": "é"}`
			a.after(replace(`{"a": 100, "b": "é"}`, `{"a": 1.00e2, "b": "\u00e9"}`))
		})},
	}
}

func signatureForms() []setRow {
	const form = "FL1020 bad-signature-form"
	return []setRow{
		{"value-of-63-bytes", "a signature of 63 bytes", form, "ENV-6", rebuilt(func(b []byte) []byte { return b[:63] })},
		{"value-of-65-bytes", "a signature of 65 bytes", form, "ENV-6", rebuilt(func(b []byte) []byte { return append(b, 0) })},
		{"value-empty", "an empty signature", form, "ENV-6", respelled(func(string) string { return "" })},
		{"value-not-base64", "a signature that is not base64", form, "ENV-6", respelled(func(v string) string { return "*" + v[1:] })},
		{"value-without-padding", "base64 without its padding", form, "ENV-6", respelled(func(v string) string { return strings.TrimRight(v, "=") })},
		{"value-for-urls", "base64 in the alphabet for URLs", form, "ENV-6", func(s *set) {
			s.edge.Payload = payloadWhoseSignatureHas(s.edge, "+/")
			s.edge.after(respell(func(v string) string { return strings.NewReplacer("+", "-", "/", "_").Replace(v) }))
		}},
		{"value-with-a-line-break", "base64 with a line break in it", form, "ENV-6", respelled(func(v string) string { return v[:40] + `\n` + v[40:] })},
		{"value-with-a-space", "base64 with a space at its end", form, "ENV-6", respelled(func(v string) string { return v + " " })},
		{"value-in-another-spelling", "base64 whose last bits are not zero", form, "ENV-6", respelled(respellLastBits)},
	}
}

func (w *world) signatureNames() []setRow {
	const alg, keyID = "FL1102 unknown-alg", "FL1103 unknown-key-id"
	return []setRow{
		{"alg-in-capitals", "the algorithm in another case", alg, "ENV-6 ENV-11", edge(func(a *Artifact) { a.Alg = `"Ed25519"` })},
		{"alg-none", "no algorithm", alg, "ENV-11", edge(func(a *Artifact) { a.Alg = `"none"` })},
		{"alg-empty", "an empty algorithm", alg, "ENV-11", edge(func(a *Artifact) { a.Alg = `""` })},
		{"key-id-of-a-stranger", "a signer whom nobody listed", keyID, "ENV-11", edge(func(a *Artifact) { a.By, a.KeyID = w.second, quote(w.second.ID) })},
		{"key-id-in-another-case", "a signer's ID in another case", keyID, "ENV-11", edge(func(a *Artifact) { a.KeyID = `"spiffe://rete-lovers/management-plane/Primary"` })},
		{"key-id-of-the-other-plane", "a signer of ctrl signs for mgmt", keyID, "ENV-10 ENV-11", func(s *set) {
			s.payload.Trust.Ctrl = block(w.ctrl).Mgmt
			s.edge.By, s.edge.KeyID = w.ctrl, quote(w.ctrl.ID)
		}},
	}
}

func alterations() []setRow {
	const bad = "FL1104 bad-signature"
	return []setRow{
		{"payload-altered", "a payload that was altered", bad, "ENV-6 ENV-11", edge(func(a *Artifact) { a.after(replace(`{"schema_version": "1.0"}`, `{"schema_version": "1.1"}`)) })},
		{"time-altered", "a generated_at that was altered", bad, "ENV-6", edge(func(a *Artifact) { a.after(replace(Now, "2026-04-20T12:00:01Z")) })},
		{"name-altered", "a name that was altered, with the inventory", bad, "ENV-6", func(s *set) {
			s.payload.Workloads[0].Name = "core"
			s.edge.after(replace(`"edge"`, `"core"`))
		}},
		{"root-altered", "a root that was altered", bad, "ENV-6 ENV-12", func(s *set) { s.root.after(replace("127.0.0.1:1081", "127.0.0.1:1082")) }},
	}
}

func (w *world) wrongSignatures() []setRow {
	const bad = "FL1104 bad-signature"
	return []setRow{
		{"other-key", "a signature by another key under the signer's ID", bad, "ENV-6 ENV-11", edge(func(a *Artifact) { a.By = w.second })},
		{"flipped-first-bit", "a flipped bit in the first half of the signature", bad, "ENV-6", rebuilt(func(b []byte) []byte { return flipped(b, 0) })},
		{"flipped-last-half", "a flipped bit in the second half of the signature", bad, "ENV-6", rebuilt(func(b []byte) []byte { return flipped(b, 40) })},
		{"second-spelling-of-s", "the group's order added to S", bad, "ENV-6", rebuilt(withOrderAdded)},
		{"all-zero", "a signature of zeros", bad, "ENV-6", rebuilt(func([]byte) []byte { return make([]byte, 64) })},
		{"over-the-text", "a signature over the text instead of its canonical form", bad, "ENV-6", edge(func(a *Artifact) {
			unsigned := strings.Replace(a.unsigned(), signatureMark, "", 1)
			a.signed = func([]byte) []byte { return []byte(unsigned) }
		})},
		{"over-a-hash", "a signature over a hash of the canonical form", bad, "ENV-6", signedOver(func(form []byte) []byte {
			sum := sha512.Sum512(form)
			return sum[:]
		})},
		{"with-a-prefix", "a signature over a prefix and the canonical form", bad, "ENV-6", signedOver(func(form []byte) []byte { return append([]byte("flor:"), form...) })},
		{"with-a-newline", "a signature over the canonical form and a newline", bad, "ENV-6 ENV-9", signedOver(func(form []byte) []byte { return append(form, '\n') })},
		{"of-another-artifact", "the signature of the set's root", bad, "ENV-6", func(s *set) {
			_ = s.text()
			root := s.root.Text()
			s.edge.after(respell(func(string) string { return root[strings.LastIndex(root, `"value": "`)+10:][:88] }))
		}},
	}
}

// respellLastBits changes the bits of base64's last character that stand for
// nothing.
func respellLastBits(value string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := len(value) - 3 // 64 bytes end in "x=="
	return value[:last] + string(alphabet[strings.IndexByte(alphabet, value[last])+1]) + value[last+1:]
}

// payloadWhoseSignatureHas finds a payload for which the signature's value has
// one of the characters, so that a vector about them shows something.
func payloadWhoseSignatureHas(a *Artifact, chars string) string {
	for i := 0; ; i++ {
		payload := sprintf(`{"schema_version": "1.0", "i": %d}`, i)
		draft := *a
		draft.Payload = payload
		if strings.ContainsAny(draft.signature(draft.unsigned()), chars) {
			return payload
		}
	}
}

// versionVectors are about ENV-14.
func (w *world) versionVectors() []Vector {
	const form, newer, older = "FL1016 bad-schema-version", "FL1017 schema-too-new", "FL1018 schema-too-old"
	var rows []setRow
	for _, bad := range []struct{ name, text string }{
		{"one-number", "1"}, {"three-numbers", "1.0.0"}, {"leading-zero", "01.0"}, {"leading-zero-in-minor", "1.00"},
		{"letter", "v1.0"}, {"empty", ""}, {"sign", "+1.0"}, {"space", "1.0 "}, {"no-minor", "1."},
	} {
		rows = append(rows, setRow{"form-" + bad.name, "schema_version is " + quote(bad.text), form, "ENV-14", edge(func(a *Artifact) { a.SchemaVersion = quote(bad.text) })})
	}
	rows = append(rows,
		setRow{"newer-minor", "an artifact of a newer minor version", newer, "ENV-14 ENV-15", edge(func(a *Artifact) { a.SchemaVersion = `"1.1"` })},
		setRow{"newer-major", "an artifact of a newer major version", newer, "ENV-14", edge(func(a *Artifact) { a.SchemaVersion = `"2.0"` })},
		setRow{"much-newer", "a version over any machine word", newer, "ENV-14", edge(func(a *Artifact) { a.SchemaVersion = `"1.99999999999999999999999999"` })},
		setRow{"newer-and-different", "an artifact of a newer version with a member that this one does not have", newer, "ENV-14", edge(func(a *Artifact) {
			a.SchemaVersion = `"2.0"`
			a.before(replace("{\n", "{\n  \"more\": 1,\n"))
		})},
		setRow{"older-major", "an artifact of an older major version", older, "ENV-14", edge(func(a *Artifact) { a.SchemaVersion = `"0.9"` })},
		setRow{"payload-newer-minor", "a root's payload of a newer minor version", newer, "ENV-14 ENV-15", func(s *set) { s.payload.SchemaVersion = "1.1" }},
		setRow{"payload-newer-and-different", "a root's payload of a newer version with another shape", newer, "ENV-14", func(s *set) {
			s.payload.SchemaVersion = "2.0"
			s.reads = replace(`"inbounds"`, `"entrances"`)
		}},
		setRow{"payload-older-major", "a root's payload of an older major version", older, "ENV-14", func(s *set) { s.payload.SchemaVersion = "0.1" }},
		setRow{"payload-of-a-workload", "a workload's payload is for the workload to judge", "", "ENV-14 AGT-2", edgePayload(`{"schema_version": "7.0"}`)},
	)
	return w.setRows("version", rows)
}

// canonicalVectors are about RFC 8785 and ENV-7: one text, one form.
func canonicalVectors() []Vector {
	const inexact = "FL1015 inexact-number"
	rows := []textRow{
		{name: "white-space", title: "white space between tokens goes", text: " [ 1 ,\t2 ,\r\n{ } , [ ] ] \n", output: "[1,2,{},[]]"},
		{name: "literals", title: "true, false and null stay", text: "[true, false, null]", output: "[true,false,null]"},
		{name: "scalar", title: "a text may be a single value", text: " \"a\" ", output: `"a"`},
		{name: "order", title: "members are sorted", text: `{"b": 1, "a": 2, "": 3, "B": 4, "aa": 5}`, output: `{"":3,"B":4,"a":2,"aa":5,"b":1}`},
		{name: "order-deep", title: "members are sorted at every depth, elements are not", text: `[{"z": {"b": 1, "a": 2}, "y": [2, 1]}]`, output: `[{"y":[2,1],"z":{"a":2,"b":1}}]`},
		{name: "order-by-utf-16", title: "members are sorted by UTF-16 code units: a character beyond the first plane comes before U+FB33", text: "{\"\ufb33\": 1, \"\U0001f600\": 2, \"\u20ac\": 3}", output: "{\"\u20ac\":3,\"\U0001f600\":2,\"\ufb33\":1}"},
		{name: "order-by-characters", title: "members are sorted by what names stand for, not by how they are spelled", text: `{"\u00f6": 1, "\r": 2, "1": 3, "\u0080": 4}`, output: "{\"\\r\":2,\"1\":3,\"\u0080\":4,\"ö\":1}"},
		{name: "escapes-short", title: "the five short escapes", text: `"\u0008\u0009\u000a\u000c\u000d"`, output: `"\b\t\n\f\r"`},
		{name: "escapes-long", title: "other control characters, in lower case", text: `"\u0000\u001F\u000B"`, output: `"\u0000\u001f\u000b"`},
		{name: "escapes-needed", title: "quotation mark and backslash", text: `"\u0022\u005c"`, output: `"\"\\"`},
		{name: "escapes-needless", title: "what need not be escaped is not", text: `"\u0041\/\u007f\u20ac\u2028<>&\ud83d\ude00"`, output: "\"A/\u007f€\u2028<>&😀\""},
		{name: "integers", title: "integers", text: `[0, 1, -1, 100000000000000000000, 9007199254740992]`, output: `[0,1,-1,100000000000000000000,9007199254740992]`},
		{name: "large", title: "from 10^21 on there is an exponent", text: `[1e20, 1e21, 999999999999999900000, 1.5e+22]`, output: `[100000000000000000000,1e+21,999999999999999900000,1.5e+22]`},
		{name: "small", title: "below 10^-6 there is an exponent", text: `[0.000001, 0.0000001, 1e-6, 0.00000123]`, output: `[0.000001,1e-7,0.000001,0.00000123]`},
		{name: "fractions", title: "fractions without zeros at their end", text: `[4.50, 2e-3, 0.10, 333333333.3333333, 1.0]`, output: `[4.5,0.002,0.1,333333333.3333333,1]`},
		{name: "extremes", title: "the largest and the smallest double", text: `[1.7976931348623157e308, 5e-324, -5E-324]`, output: `[1.7976931348623157e+308,5e-324,-5e-324]`},
		{name: "zeros", title: "zero in many spellings", text: `[0.0, 0e5, 0E-7, 0.000]`, output: `[0,0,0,0]`},
		{name: "nested-64", title: "64 levels", text: nested(64), output: nested(64), more: "ENV-1"},
		{name: "refused-2-53-plus-1", title: "an integer that becomes another", refuse: inexact, text: `[9007199254740993]`},
		{name: "refused-minus-zero", title: "negative zero", refuse: inexact, text: `[-0]`},
		{name: "refused-too-large", title: "a number that no double holds", refuse: inexact, text: `[1e400]`},
		{name: "refused-rfc-8785-example", title: "RFC 8785's own example of rounding: it writes 333333333.33333329 as 333333333.3333333", refuse: inexact, text: `[333333333.33333329]`},
		{name: "refused-duplicate", title: "two members of one name", refuse: "FL1003 duplicate-name", text: `{"a": 1, "a": 1}`, more: "ENV-1"},
		{name: "refused-lone-surrogate", title: "half a character", refuse: "FL1002 not-json", text: `"\udc00"`, more: "ENV-1"},
		{name: "refused-nested-65", title: "65 levels", refuse: "FL1005 too-deep", text: nested(65), more: "ENV-1"},
		{name: "refused-two-values", title: "two values", refuse: "FL1002 not-json", text: `1 2`, more: "ENV-1"},
	}
	return textVectors("canonical", "text.json", "ENV-6 ENV-7", rows)
}
