package mint

import (
	"slices"
	"strings"
)

// envelopeVectors are about one artifact's text: ENV-1 to ENV-5.
func (w *world) envelopeVectors() []Vector {
	return w.setRows("envelope", slices.Concat(
		envelopeAccepted(), envelopeSyntax(), envelopeMembers(), envelopeTypes(), envelopePlanes(), envelopeNames(), envelopeTimes()))
}

func envelopeAccepted() []setRow {
	return []setRow{
		{"plain", "a good set of two artifacts", "", "ENV-1 ENV-2 ENV-6 ENV-11 ENV-18", nil},
		{"white-space-around", "white space of JSON around and between all tokens", "", "ENV-1 ENV-8", func(s *set) {
			s.doc = func(doc string) string {
				return "\r\n\t " + strings.ReplaceAll(doc, "\n", " \r\n\t ") + "\t\r\n "
			}
		}},
		{"compact", "white space between tokens is not signed: it was taken out later", "", "ENV-1 ENV-6 ENV-8", func(s *set) { s.edge.after(compact) }},
		{"members-in-another-order", "the order of members does not matter to a reader", "", "ENV-2 ENV-6", edgeText(func(text string) string {
			line := `  "name": "edge",` + "\n"
			return replace("{\n", "{\n"+line)(replace(line, "")(text))
		})},
		{"escaped-member-name", "a member's name is compared after unescaping", "", "ENV-7", edgeText(replace(`"node"`, `"n\u006fde"`))},
		{"escaped-value", "a string is compared after unescaping", "", "ENV-7", edgeText(replace(`"alpha"`, `"\u0061lpha"`))},
		{"escaped-solidus", "a solidus may be escaped", "", "ENV-6", edgeText(replace(`"spiffe://rete-lovers`, `"spiffe:\/\/rete-lovers`))},
		{"payload-array", "a payload may be an array", "", "ENV-5", edgePayload(`[1, "two", null]`)},
		{"payload-string", "a payload may be a string", "", "ENV-5", edgePayload(`"words"`)},
		{"payload-false", "a payload may be false", "", "ENV-5", edgePayload(`false`)},
		{"payload-zero", "a payload may be zero", "", "ENV-5", edgePayload(`0`)},
		{"payload-empty-object", "a payload may be an empty object", "", "ENV-5", edgePayload(`{}`)},
		{"nested-64", "64 levels of nesting, the artifact counted as one", "", "ENV-1", edgePayload(nested(63))},
		{"names-that-look-alike", "names beyond the known ones may differ by case, inside a payload", "", "ENV-1 ENV-7", edgePayload(`{"Node": 1, "node": 2, "NODE": 3}`)},
		{"unnormalised", "two spellings of one glyph are two names: nothing is normalised", "", "ENV-7", edgePayload("{\"\u00e9\": 1, \"e\u0301\": 2}")},
		{"surrogate-pair", "a pair of escaped surrogates is one character", "", "ENV-1 ENV-6", edgePayload(`{"face": "\ud83d\ude00"}`)},
		{"version-2-53-less-1", "the newest version there can be", "", "ENV-3", func(s *set) {
			s.mark = 1<<53 - 2
			s.root.Version, s.edge.Version = "9007199254740991", "9007199254740991"
		}},
		{"version-1", "the oldest version there can be", "", "ENV-3", func(s *set) {
			s.mark = 0
			s.root.Version, s.edge.Version = "1", "1"
		}},
		{"time-29-february", "a day that only a leap year has", "", "ENV-3", edge(func(a *Artifact) { a.GeneratedAt = `"2024-02-29T23:59:59Z"` })},
		{"time-to-come", "nothing expires or is ordered by generated_at", "", "ENV-3 ENV-13", edge(func(a *Artifact) { a.GeneratedAt = `"9999-12-31T23:59:59Z"` })},
	}
}

func envelopeSyntax() []setRow {
	const notJSON, tooDeep, twice, inCase = "FL1002 not-json", "FL1005 too-deep", "FL1003 duplicate-name", "FL1004 name-case"
	return []setRow{
		{"byte-order-mark", "a byte order mark before the document", notJSON, "ENV-1", doc(func(d string) string { return "\ufeff" + d })},
		{"second-document", "a second document after the first", notJSON, "ENV-1", doc(func(d string) string { return d + "{}\n" })},
		{"text-after", "text after the document", notJSON, "ENV-1", doc(func(d string) string { return d + "x" })},
		{"empty", "nothing at all", notJSON, "ENV-1", doc(func(string) string { return "" })},
		{"cut-short", "a document without its end", notJSON, "ENV-1", doc(func(d string) string { return strings.TrimSuffix(d, "]}\n") })},
		{"comment", "a comment", notJSON, "ENV-1", edgeText(replace(",\n", ", // words\n"))},
		{"trailing-comma", "a comma after the last member", notJSON, "ENV-1", edgePayload(`{"a": 1,}`)},
		{"single-quotes", "a string in single quotes", notJSON, "ENV-1", edgePayload(`{'a': 1}`)},
		{"raw-control-character", "a line feed inside a string", notJSON, "ENV-1", edgePayload("\"a\nb\"")},
		{"unknown-escape", "an escape that JSON does not have", notJSON, "ENV-1", edgePayload(`"\x41"`)},
		{"leading-zero", "a number with a leading zero", notJSON, "ENV-1", edgePayload(`01`)},
		{"plus-sign", "a number with a plus sign", notJSON, "ENV-1", edgePayload(`+1`)},
		{"bare-fraction", "a number that begins with its point", notJSON, "ENV-1", edgePayload(`.5`)},
		{"not-a-number", "NaN", notJSON, "ENV-1", edgePayload(`NaN`)},
		{"form-feed", "white space that JSON does not have", notJSON, "ENV-1", edgePayload("\f1")},
		{"invalid-utf-8", "a byte that is not UTF-8 inside a string", notJSON, "ENV-1", edgePayload("\"a\xffb\"")},
		{"overlong-utf-8", "a character in more bytes than it needs", notJSON, "ENV-1", edgePayload("\"\xc0\xaf\"")},
		{"surrogate-in-utf-8", "a surrogate written as three bytes", notJSON, "ENV-1", edgePayload("\"\xed\xa0\x80\"")},
		{"lone-high-surrogate", "the first half of a pair of surrogates", notJSON, "ENV-1", edgePayload(`"\ud83d"`)},
		{"lone-low-surrogate", "the second half of a pair of surrogates", notJSON, "ENV-1", edgePayload(`"\ude00"`)},
		{"swapped-surrogates", "a pair of surrogates in the wrong order", notJSON, "ENV-1", edgePayload(`"\ude00\ud83d"`)},
		{"nested-65", "65 levels of nesting", tooDeep, "ENV-1", edgePayload(nested(64))},
		{"nested-65-objects", "65 levels of objects", tooDeep, "ENV-1", edgePayload(strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64))},
		{"duplicate-member", "a member of the artifact twice", twice, "ENV-1", edgeText(replace(`  "node"`, `  "node": "beta",`+"\n"+`  "node"`))},
		{"duplicate-deep", "a name twice inside the payload", twice, "ENV-1", edgePayload(`{"a": [{"b": 1, "b": 2}]}`)},
		{"duplicate-after-unescaping", "a name twice, once with an escape", twice, "ENV-1 ENV-7", edgePayload(`{"a": 1, "\u0061": 2}`)},
		{"duplicate-equal", "a member twice with one value", twice, "ENV-1", edgePayload(`{"a": 1, "a": 1}`)},
		{"duplicate-in-signature", "a member of the signature twice", twice, "ENV-1", edgeText(replace(`"alg"`, `"alg": "none", "alg"`))},
		{"case-of-member", "a member in another case", inCase, "ENV-1 ENV-2", edgeText(replace(`"payload"`, `"Payload"`))},
		{"case-beside-member", "a member beside itself in another case", inCase, "ENV-1", edgeText(replace(`  "node"`, `  "NODE": "beta",`+"\n"+`  "node"`))},
		{"case-in-signature", "a member of the signature in another case", inCase, "ENV-1", edgeText(replace(`"key_id"`, `"Key_ID"`))},
	}
}

func envelopeMembers() []setRow {
	const unknown, missing, null = "FL1007 unknown-member", "FL1008 missing-member", "FL1009 null-member"
	rows := []setRow{
		{"unknown-member", "a member that artifacts do not have", unknown, "ENV-2", edgeText(replace("{\n", "{\n  \"more\": 1,\n"))},
		{"unknown-in-signature", "a member that signatures do not have", unknown, "ENV-2", edgeText(replace(`"alg"`, `"more": 1, "alg"`))},
		{"unknown-in-ctrl", "a member that ctrl does not have", unknown, "ENV-2 ENV-3", edge(func(a *Artifact) { a.Plane = `{"ctrl": {"obeys_mgmt_version": 1, "more": 1}}` })},
		{"ctrl-without-version", "ctrl without obeys_mgmt_version", missing, "ENV-2 ENV-3", edge(func(a *Artifact) { a.Plane = `{"ctrl": {}}` })},
		{"signature-without-alg", "a signature without its algorithm", missing, "ENV-2", edgeText(replace(`"alg": "ed25519", `, ""))},
		{"signature-without-value", "a signature without its value", missing, "ENV-2", edgeText(replace(`, "value": "`+signatureMark+`"`, ""))},
		{"ctrl-null", "ctrl is null", null, "ENV-2", edge(func(a *Artifact) { a.Plane = `{"ctrl": null}` })},
		{"signature-value-null", "the signature's value is null", null, "ENV-2", edgeText(replace(`"`+signatureMark+`"`, "null"))},
	}
	for _, name := range []string{"schema_version", "plane", "version", "node", "name", "generated_at", "payload", "signature"} {
		dashed := strings.ReplaceAll(name, "_", "-")
		rows = append(rows,
			setRow{"missing-" + dashed, name + " is absent", missing, "ENV-2", edgeText(without(name))},
			setRow{"null-" + dashed, name + " is null", null, "ENV-2", edgeText(nullify(name))})
	}
	return rows
}

func envelopeTypes() []setRow {
	const wrong = "FL1010 wrong-type"
	return []setRow{
		{"signature-array", "an array where the signature is due", wrong, "ENV-2", edgeText(func(t string) string {
			return replace(`"signature": {`, `"signature": [{`)(replace("}\n}", "}]\n}")(t))
		})},
		{"signature-string", "a string where the signature is due", wrong, "ENV-2", edgeText(func(t string) string {
			at := strings.Index(t, `"signature"`)
			return t[:at] + `"signature": "` + signatureMark + "\"\n}"
		})},
		{"ctrl-array", "an array where ctrl is due", wrong, "ENV-2 ENV-3", edge(func(a *Artifact) { a.Plane = `{"ctrl": [1]}` })},
		{"key-id-number", "key_id is a number", wrong, "ENV-2", edge(func(a *Artifact) { a.KeyID = "7" })},
		{"node-number", "node is a number", wrong, "ENV-4", edge(func(a *Artifact) { a.Node = "7" })},
		{"time-number", "generated_at is a number", wrong, "ENV-3", edge(func(a *Artifact) { a.GeneratedAt = "1776686400" })},
		{"schema-version-number", "schema_version is a number", wrong, "ENV-14", edge(func(a *Artifact) { a.SchemaVersion = "1.0" })},
		{"version-string", "version is a string", wrong, "ENV-3", edge(func(a *Artifact) { a.Version = `"42"` })},
	}
}

func envelopePlanes() []setRow {
	const plane, number = "FL1011 bad-plane", "FL1012 bad-version"
	rows := []setRow{
		{"plane-in-capitals", "plane is MGMT", plane, "ENV-3", edge(func(a *Artifact) { a.Plane = `"MGMT"` })},
		{"plane-ctrl-string", "plane is the string ctrl", plane, "ENV-3", edge(func(a *Artifact) { a.Plane = `"ctrl"` })},
		{"plane-array", "plane is an array", plane, "ENV-2 ENV-3", edge(func(a *Artifact) { a.Plane = `["mgmt"]` })},
		{"plane-empty-object", "plane is an empty object", plane, "ENV-3", edge(func(a *Artifact) { a.Plane = `{}` })},
		{"plane-of-two", "plane has a member beside ctrl", plane, "ENV-2 ENV-3", edge(func(a *Artifact) { a.Plane = `{"ctrl": {"obeys_mgmt_version": 1}, "mgmt": {}}` })},
		{"obeys-zero", "obeys_mgmt_version is 0", number, "ENV-3", edge(func(a *Artifact) { a.Plane = `{"ctrl": {"obeys_mgmt_version": 0}}` })},
	}
	for name, text := range map[string]string{
		"zero": "0", "negative": "-1", "fraction": "42.0", "exponent": "42e0", "2-53": "9007199254740992",
		"2-64": "18446744073709551616", "minus-zero": "-0",
	} {
		rows = append(rows, setRow{"version-" + name, "version is " + text, number, "ENV-3", edge(func(a *Artifact) { a.Version = text })})
	}
	return rows
}

func nullify(name string) edit {
	return func(text string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, `  "`+name+`":`) {
				lines[i] = `  "` + name + `": null`
				if strings.HasSuffix(line, ",") {
					lines[i] += ","
				}
			}
		}
		return strings.Join(lines, "\n")
	}
}

func envelopeNames() []setRow {
	long := strings.Repeat("n", 63)
	var rows []setRow
	for _, good := range []struct{ name, title, text string }{
		{"name-of-63", "a name of 63 characters", long},
		{"name-with-all-signs", "a name with dot, underscore, hyphen, digit and capital", "9A.b_c-d-"},
		{"name-console", "a name that begins like a reserved one", "console"},
		{"name-com10", "a name that is a reserved one and a digit", "com10.txt"},
		{"name-com", "a name that is a reserved one without its digit", "com"},
	} {
		rows = append(rows, setRow{good.name, good.title, "", "ENV-4", func(s *set) {
			s.edge.Name = quote(good.text)
			s.payload.Workloads[0].Name = good.text
		}})
	}
	for _, bad := range []struct{ name, title, text string }{
		{"name-empty", "an empty name", ""},
		{"name-dot", "the name of this directory", "."},
		{"name-dot-dot", "the name of the directory above", ".."},
		{"name-slash", "a name with a slash", "a/b"},
		{"name-backslash", "a name with a backslash", `a\b`},
		{"name-colon", "a name with a colon", "a:b"},
		{"name-space", "a name with a space", "a b"},
		{"name-nul", "a name with a zero byte", "a\x00b"},
		{"name-umlaut", "a name with a letter beyond ASCII", "kühl"},
		{"name-leading-dot", "a name that begins with a dot", ".edge"},
		{"name-leading-hyphen", "a name that begins with a hyphen", "-edge"},
		{"name-leading-underscore", "a name that begins with an underscore", "_edge"},
		{"name-trailing-dot", "a name that ends in a dot", "edge."},
		{"name-of-64", "a name of 64 characters", long + "n"},
		{"name-con", "a name that an operating system reserves", "con"},
		{"name-prn", "another name that an operating system reserves", "PRN"},
		{"name-aux", "a reserved name with an extension", "aux.json"},
		{"name-nul-extensions", "a reserved name with two extensions", "Nul.tar.gz"},
		{"name-com1", "a reserved name with a digit", "COM1"},
		{"name-lpt0", "a reserved name with a digit and an extension", "lpt0.x"},
		{"name-manifest", "the name that is reserved for the bundle", "manifest"},
		{"name-manifest-in-capitals", "the reserved name in another case", "Manifest"},
	} {
		rows = append(rows, setRow{bad.name, bad.title, "FL1013 unsafe-name", "ENV-4", edge(func(a *Artifact) { a.Name = quote(bad.text) })})
	}
	return append(rows, setRow{"node-unsafe", "a node's name is held to the same rule", "FL1013 unsafe-name", "ENV-4",
		edge(func(a *Artifact) { a.Node = `"../alpha"` })})
}

func envelopeTimes() []setRow {
	var rows []setRow
	for _, bad := range []struct{ name, title, text string }{
		{"time-offset", "a time with an offset", "2026-04-20T12:00:00+00:00"},
		{"time-fraction", "a time with a fraction", "2026-04-20T12:00:00.0Z"},
		{"time-lower-case", "a time in lower case", "2026-04-20t12:00:00z"},
		{"time-space", "a time with a space between date and hour", "2026-04-20 12:00:00Z"},
		{"time-date-only", "a date without a time", "2026-04-20"},
		{"time-30-february", "a day that no year has", "2026-02-30T12:00:00Z"},
		{"time-29-february-2026", "a day that this year does not have", "2026-02-29T12:00:00Z"},
		{"time-24-hours", "an hour that no day has", "2026-04-20T24:00:00Z"},
		{"time-leap-second", "a second that no minute here has", "2026-06-30T23:59:60Z"},
		{"time-short", "a month of one digit", "2026-4-20T12:00:00Z"},
		{"time-empty", "an empty time", ""},
	} {
		rows = append(rows, setRow{bad.name, bad.title, "FL1014 bad-time", "ENV-3", edge(func(a *Artifact) { a.GeneratedAt = quote(bad.text) })})
	}
	return rows
}
