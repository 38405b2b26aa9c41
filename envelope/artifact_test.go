package envelope_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/google/go-cmp/cmp"
)

// plain is a well-formed artifact whose signature nobody has made.
const plain = `{
  "schema_version": "1.0",
  "plane": "mgmt",
  "version": 42,
  "node": "alpha",
  "name": "wire",
  "generated_at": "2026-04-20T12:00:00Z",
  "payload": {"schema_version": "1.0", "list": [1, 1.0, 1e2]},
  "signature": {"alg": "ed25519", "key_id": "spiffe://rete-lovers/management-plane/primary", "value": "c2ln"}
}`

// edited returns plain with one passage replaced, and fails when it has none.
func edited(t testing.TB, old, new string) []byte {
	t.Helper()
	return replaceOnce(t, []byte(plain), old, new)
}

// wantReason fails unless err is a Refusal with the reason; "" means no error.
func wantReason(t testing.TB, err error, want envelope.Reason) {
	t.Helper()
	var refusal *envelope.Refusal
	switch {
	case want == "" && err != nil:
		t.Fatalf("refused: %v", err)
	case want == "":
	case !errors.As(err, &refusal):
		t.Fatalf("error is %v, not a refusal %s", err, want)
	case refusal.Reason != want:
		t.Fatalf("refused with %v, want reason %s", err, want)
	}
}

func TestParseReadsEveryMember(t *testing.T) {
	t.Parallel()
	a, err := envelope.Parse([]byte(" " + plain + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	type view struct {
		Core                             envelope.Core
		Obeys                            uint64
		At                               time.Time
		Signature                        envelope.Signature
		Raw, Payload, Canonical, Address string
	}
	got := view{a.Core, a.ObeysMgmtVersion, a.GeneratedAt, a.Signature,
		string(a.Raw()), string(a.Payload()), string(a.CanonicalPayload()), a.Ref().String()}
	want := view{
		Core:      envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"},
		At:        time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC),
		Signature: envelope.Signature{Alg: "ed25519", KeyID: "spiffe://rete-lovers/management-plane/primary", Value: "c2ln"},
		Raw:       plain,
		Payload:   `{"schema_version": "1.0", "list": [1, 1.0, 1e2]}`,
		Canonical: `{"list":[1,1,100],"schema_version":"1.0"}`,
		Address:   "alpha/mgmt/wire",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := a.Payload(); cap(p) != len(p) {
		t.Error("appending to the payload would overwrite the text")
	}
}

// TestCanonicalOfAnArtifact pins both ways to one form: composed from what was
// parsed, and computed from the text (ENV-6, ENV-8).
func TestCanonicalOfAnArtifact(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{
		"mgmt":                  []byte(plain),
		"ctrl":                  edited(t, `"mgmt"`, `{"ctrl": {"obeys_mgmt_version": 7}}`),
		"odd characters signed": edited(t, `"c2ln"`, `"<\u00e9\n\u2028\"/😀"`),
		"a payload not object":  edited(t, `{"schema_version": "1.0", "list": [1, 1.0, 1e2]}`, `[true, "x"]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := envelope.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := envelope.Canonical(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(whole), string(a.Canonical())); diff != "" {
				t.Error(diff)
			}
			signature := whole[strings.Index(string(whole), `"signature":`):strings.Index(string(whole), `"version":`)]
			if diff := cmp.Diff(strings.Replace(string(whole), string(signature), "", 1), string(a.Signed())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	tests := map[string][]byte{
		"white space around":                     []byte("\t\r\n " + plain + " \r\n\t"),
		"the ctrl plane":                         edited(t, `"mgmt"`, `{"ctrl":{"obeys_mgmt_version":9007199254740991}}`),
		"the first version":                      edited(t, `42`, `1`),
		"the last version":                       edited(t, `42`, `9007199254740991`),
		"a name of 63 characters":                edited(t, `"wire"`, `"`+strings.Repeat("w", 63)+`"`),
		"escapes in a name":                      edited(t, `"node"`, `"\u006eode"`),
		"escapes in a value":                     edited(t, `"wire"`, `"\u0077ire"`),
		"a leap day":                             edited(t, `2026-04-20`, `2028-02-29`),
		"names in another case within a payload": edited(t, `"list"`, `"Schema_Version"`),
		"null within a payload":                  edited(t, `1e2`, `null`),
		"a payload that is a string":             edited(t, `{"schema_version": "1.0", "list": [1, 1.0, 1e2]}`, `"text"`),
		"64 nested":                              edited(t, `1e2`, strings.Repeat("[", 61)+strings.Repeat("]", 61)),
		"a pair of surrogates":                   edited(t, `1e2`, `"\ud83d\ude00"`),
		"algorithms to be":                       edited(t, `"ed25519"`, `"ml-dsa-44"`),
		"exactly the limit":                      padded(envelope.MaxEnvelope),
		"white space beyond the limit":           append(padded(envelope.MaxEnvelope), " \n"...),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.Parse(text)
			wantReason(t, err, "")
		})
	}
}

// padded returns an artifact of exactly size bytes.
func padded(size int) []byte {
	gap := strings.Repeat(" ", size-len(plain))
	return []byte(strings.Replace(plain, `"payload":`, `"payload":`+gap, 1))
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	payload := `{"schema_version": "1.0", "list": [1, 1.0, 1e2]}`
	tests := map[string]struct {
		text []byte
		want envelope.Reason
	}{
		// ENV-1
		"nothing":                       {nil, envelope.NotJSON},
		"white space":                   {[]byte(" \n"), envelope.NotJSON},
		"a byte order mark":             {[]byte("\ufeff" + plain), envelope.NotJSON},
		"a second document":             {[]byte(plain + "{}"), envelope.NotJSON},
		"a second document after space": {[]byte(plain + "\n1"), envelope.NotJSON},
		"a cut text":                    {[]byte(plain[:len(plain)-1]), envelope.NotJSON},
		"a comma too many":              {edited(t, `"c2ln"}`, `"c2ln"},`), envelope.NotJSON},
		"a comment":                     {edited(t, `"c2ln"}`, `"c2ln"}/**/`), envelope.NotJSON},
		"single quotes":                 {edited(t, `"mgmt"`, `'mgmt'`), envelope.NotJSON},
		"white space that JSON has not": {[]byte("\u00a0" + plain), envelope.NotJSON},
		"invalid UTF-8":                 {edited(t, `1e2`, "\"\xff\""), envelope.NotJSON},
		"an overlong encoding":          {edited(t, `1e2`, "\"\xc0\xaf\""), envelope.NotJSON},
		"an encoded surrogate":          {edited(t, `1e2`, "\"\xed\xa0\x80\""), envelope.NotJSON},
		"a lone high surrogate":         {edited(t, `1e2`, `"\ud83d"`), envelope.NotJSON},
		"a lone low surrogate":          {edited(t, `1e2`, `"\ude00"`), envelope.NotJSON},
		"swapped surrogates":            {edited(t, `1e2`, `"\ude00\ud83d"`), envelope.NotJSON},
		"a raw control character":       {edited(t, `1e2`, "\"\n\""), envelope.NotJSON},
		"a number with leading zero":    {edited(t, `1e2`, `01`), envelope.NotJSON},
		"NaN":                           {edited(t, `1e2`, `NaN`), envelope.NotJSON},
		"a duplicate name":              {edited(t, `"version": 42,`, `"version": 42, "version": 42,`), envelope.DuplicateName},
		"a duplicate after unescaping":  {edited(t, `"version": 42,`, `"version": 42, "\u0076ersion": 42,`), envelope.DuplicateName},
		"a duplicate deep in a payload": {edited(t, `1e2`, `[{"a":{"b":1,"b":1}}]`), envelope.DuplicateName},
		"a duplicate in the signature":  {edited(t, `"alg": "ed25519"`, `"alg": "ed25519", "al\u0067": "ed25519"`), envelope.DuplicateName},
		"a name in another case":        {edited(t, `"node"`, `"Node"`), envelope.NameCase},
		"a name folded by Unicode":      {edited(t, `"version"`, `"verſion"`), envelope.NameCase},
		"a signature name in capitals":  {edited(t, `"alg"`, `"ALG"`), envelope.NameCase},
		"65 nested":                     {edited(t, `1e2`, strings.Repeat("[", 62)+strings.Repeat("]", 62)), envelope.TooDeep},
		"a million nested":              {[]byte(strings.Repeat("[", 1e6)), envelope.TooDeep},
		"a byte over the limit":         {padded(envelope.MaxEnvelope + 1), envelope.TooLarge},
		// ENV-2
		"an array":                      {[]byte(`[` + plain + `]`), envelope.NotObject},
		"a string":                      {[]byte(`"artifact"`), envelope.NotObject},
		"a boolean":                     {[]byte(`true`), envelope.NotObject},
		"an unknown member":             {edited(t, `"version": 42,`, `"version": 42, "note": "",`), envelope.UnknownMember},
		"a member missing":              {edited(t, `"version": 42,`, ``), envelope.MissingMember},
		"no members":                    {[]byte(`{}`), envelope.MissingMember},
		"a null member":                 {edited(t, `42`, `null`), envelope.NullMember},
		"a null signature":              {edited(t, `"signature": {"alg": "ed25519", "key_id": "spiffe://rete-lovers/management-plane/primary", "value": "c2ln"}`, `"signature": null`), envelope.NullMember},
		"a null in the signature":       {edited(t, `"c2ln"`, `null`), envelope.NullMember},
		"a member missing in signature": {edited(t, `, "value": "c2ln"`, ``), envelope.MissingMember},
		"a stranger in the signature":   {edited(t, `"c2ln"`, `"c2ln", "note": 1`), envelope.UnknownMember},
		"a signature array":             {edited(t, `{"alg": "ed25519", "key_id": "spiffe://rete-lovers/management-plane/primary", "value": "c2ln"}`, `["ed25519", "k", "c2ln"]`), envelope.WrongType},
		"a signature number":            {edited(t, `"c2ln"`, `1`), envelope.WrongType},
		// ENV-3
		"an unknown plane":          {edited(t, `"mgmt"`, `"data"`), envelope.BadPlane},
		"a plane in capitals":       {edited(t, `"mgmt"`, `"MGMT"`), envelope.BadPlane},
		"mgmt as an object":         {edited(t, `"mgmt"`, `{"mgmt":{}}`), envelope.BadPlane},
		"ctrl as a string":          {edited(t, `"mgmt"`, `"ctrl"`), envelope.BadPlane},
		"a plane array":             {edited(t, `"mgmt"`, `["mgmt"]`), envelope.BadPlane},
		"two planes":                {edited(t, `"mgmt"`, `{"ctrl":{"obeys_mgmt_version":1},"mgmt":{}}`), envelope.BadPlane},
		"a plane without a version": {edited(t, `"mgmt"`, `{"ctrl":{}}`), envelope.MissingMember},
		"a ctrl array":              {edited(t, `"mgmt"`, `{"ctrl":[1]}`), envelope.WrongType},
		"a ctrl null":               {edited(t, `"mgmt"`, `{"ctrl":null}`), envelope.NullMember},
		"a stranger in ctrl":        {edited(t, `"mgmt"`, `{"ctrl":{"obeys_mgmt_version":1,"x":1}}`), envelope.UnknownMember},
		"an obeyed version 0":       {edited(t, `"mgmt"`, `{"ctrl":{"obeys_mgmt_version":0}}`), envelope.BadVersion},
		"an obeyed version null":    {edited(t, `"mgmt"`, `{"ctrl":{"obeys_mgmt_version":null}}`), envelope.NullMember},
		"an obeyed version as text": {edited(t, `"mgmt"`, `{"ctrl":{"obeys_mgmt_version":"1"}}`), envelope.WrongType},
		"version 0":                 {edited(t, `42`, `0`), envelope.BadVersion},
		"a negative version":        {edited(t, `42`, `-42`), envelope.BadVersion},
		"a version with fraction":   {edited(t, `42`, `42.0`), envelope.BadVersion},
		"a version with exponent":   {edited(t, `42`, `42e0`), envelope.BadVersion},
		"a version of 2^53":         {edited(t, `42`, `9007199254740992`), envelope.BadVersion},
		"a version beyond 64 bits":  {edited(t, `42`, `100000000000000000000`), envelope.BadVersion},
		"a version as text":         {edited(t, `42`, `"42"`), envelope.WrongType},
		"a date without seconds":    {edited(t, `T12:00:00Z`, `T12:00Z`), envelope.BadTime},
		"a date with fraction":      {edited(t, `T12:00:00Z`, `T12:00:00.0Z`), envelope.BadTime},
		"a date with offset":        {edited(t, `T12:00:00Z`, `T12:00:00+00:00`), envelope.BadTime},
		"a date in small letters":   {edited(t, `T12:00:00Z`, `t12:00:00z`), envelope.BadTime},
		"a date with a space":       {edited(t, `T12:00:00Z`, ` 12:00:00Z`), envelope.BadTime},
		"an hour without zero":      {edited(t, `2026-04-20T12:00:00Z`, `2026-04-20T2:00:00Z`), envelope.BadTime},
		"a comma in the seconds":    {edited(t, `T12:00:00Z`, `T12:00:00,5Z`), envelope.BadTime},
		"a day that is not":         {edited(t, `2026-04-20`, `2026-02-29`), envelope.BadTime},
		"a leap second":             {edited(t, `T12:00:00Z`, `T23:59:60Z`), envelope.BadTime},
		"a date as number":          {edited(t, `"2026-04-20T12:00:00Z"`, `1776686400`), envelope.WrongType},
		// ENV-4
		"a node that climbs":        {edited(t, `"alpha"`, `".."`), envelope.UnsafeName},
		"a name with a slash":       {edited(t, `"wire"`, `"a/b"`), envelope.UnsafeName},
		"a name that hides a slash": {edited(t, `"wire"`, `"a\u002fb"`), envelope.UnsafeName},
		"a reserved basename":       {edited(t, `"wire"`, `"con.json"`), envelope.UnsafeName},
		"the name manifest":         {edited(t, `"wire"`, `"Manifest"`), envelope.UnsafeName},
		"a name as array":           {edited(t, `"wire"`, `["wire"]`), envelope.WrongType},
		// ENV-5
		"a null payload": {edited(t, payload, `null`), envelope.NullMember},
		// ENV-7
		"an inexact number": {edited(t, `1e2`, `9007199254740993`), envelope.InexactNumber},
		// ENV-14
		"a schema_version as number": {edited(t, "{\n  \"schema_version\": \"1.0\"", "{\n  \"schema_version\": 1.0"), envelope.WrongType},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.Parse(tc.text)
			wantReason(t, err, tc.want)
		})
	}
}

func TestSchemaVersionLadder(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		version string
		want    envelope.Reason
	}{
		"this version":                {"1.0", ""},
		"a newer minor":               {"1.1", envelope.SchemaTooNew},
		"a newer major":               {"2.0", envelope.SchemaTooNew},
		"a newer major of two digits": {"10.0", envelope.SchemaTooNew},
		"a version beyond any int":    {"1." + strings.Repeat("9", 100), envelope.SchemaTooNew},
		"an older major":              {"0.9", envelope.SchemaTooOld},
		"a major alone":               {"1", envelope.BadSchemaVersion},
		"three parts":                 {"1.0.0", envelope.BadSchemaVersion},
		"a leading zero":              {"01.0", envelope.BadSchemaVersion},
		"a minor with leading zero":   {"1.00", envelope.BadSchemaVersion},
		"a sign":                      {"+1.0", envelope.BadSchemaVersion},
		"a negative minor":            {"1.-1", envelope.BadSchemaVersion},
		"a space":                     {"1.0 ", envelope.BadSchemaVersion},
		"digits that are not ASCII":   {"١.٠", envelope.BadSchemaVersion},
		"nothing":                     {"", envelope.BadSchemaVersion},
		"a dot":                       {".", envelope.BadSchemaVersion},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantReason(t, envelope.CheckSchemaVersion("the artifact", tc.version, envelope.SchemaVersion), tc.want)
			_, err := envelope.Parse(edited(t, "{\n  \"schema_version\": \"1.0\"", "{\n  \"schema_version\": \""+tc.version+`"`))
			wantReason(t, err, tc.want)
		})
	}
	for name, tc := range map[string]struct {
		version, own string
		want         envelope.Reason
	}{
		"an older minor passes":                  {"1.1", "1.2", ""},
		"minors are numbers, not words":          {"1.9", "1.10", ""},
		"majors are numbers, not words":          {"2.0", "10.0", envelope.SchemaTooOld},
		"an older minor of a newer major is new": {"2.0", "1.9", envelope.SchemaTooNew},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantReason(t, envelope.CheckSchemaVersion("the artifact", tc.version, tc.own), tc.want)
		})
	}
}

// TestUpgradeMessage checks ENV-14's lenient look: a text of another version
// that strict parsing does not understand is refused for its version.
func TestUpgradeMessage(t *testing.T) {
	t.Parallel()
	newer := strings.Replace(plain, `"1.0"`, `"1.1"`, 1)
	tests := map[string]struct {
		text string
		want envelope.Reason
	}{
		"a newer version with a new member":     {strings.Replace(newer, `"version": 42,`, `"version": 42, "note": 1,`, 1), envelope.SchemaTooNew},
		"a newer version with a new plane":      {strings.Replace(newer, `"mgmt"`, `{"data":{}}`, 1), envelope.SchemaTooNew},
		"an older version without a member":     {strings.Replace(strings.Replace(plain, `"1.0"`, `"0.1"`, 1), `"version": 42,`, ``, 1), envelope.SchemaTooOld},
		"this version with a new member":        {strings.Replace(plain, `"version": 42,`, `"version": 42, "note": 1,`, 1), envelope.UnknownMember},
		"a malformed version with a new member": {strings.Replace(strings.Replace(plain, `"1.0"`, `"one"`, 1), `"version": 42,`, `"version": 42, "note": 1,`, 1), envelope.UnknownMember},
		"a newer version cut short":             {newer[:60], envelope.SchemaTooNew},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.Parse([]byte(tc.text))
			wantReason(t, err, tc.want)
			if tc.want == envelope.SchemaTooNew && !strings.Contains(err.Error(), "upgrade this program") {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}

func TestRefusalNamesTheArtifact(t *testing.T) {
	t.Parallel()
	_, err := envelope.Parse(edited(t, `"version": 42,`, `"version": 42, "note": 1,`))
	want := `FL1007 unknown-member: alpha/mgmt/wire: an artifact has no room for member "note"`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// TestErrorsStayShort: a hostile text must not be repeated into a log.
func TestErrorsStayShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	for name, text := range map[string][]byte{
		"a long unknown name":      edited(t, `"version": 42,`, `"version": 42, "`+long+`":1,`),
		"a long duplicate name":    edited(t, `1e2`, `{"`+long+`":1,"`+long+`":1}`),
		"a long plane":             edited(t, `"mgmt"`, `"`+long+`"`),
		"a long number":            edited(t, `1e2`, `1`+strings.Repeat("0", 1<<20)),
		"an error deep in a name":  edited(t, `1e2`, `{"`+long+`":1e400}`),
		"a long key":               edited(t, `"wire"`, `"`+long+`"`),
		"a long date":              edited(t, `"2026-04-20T12:00:00Z"`, `"`+long+`"`),
		"a long schema version":    edited(t, "{\n  \"schema_version\": \"1.0\"", "{\n  \"schema_version\": \""+long+`"`),
		"a syntax error in a name": edited(t, `1e2`, `{"`+long+`":x}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.Parse(text)
			if err == nil {
				t.Fatal("not refused")
			}
			if n := len(err.Error()); n > 500 {
				t.Errorf("the error has %d bytes", n)
			}
		})
	}
}

// replaceOnce replaces one passage of a text, and fails when it has none.
func replaceOnce(t testing.TB, text []byte, old, new string) []byte {
	t.Helper()
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("%q is not exactly once in %s", old, text)
	}
	return []byte(strings.Replace(string(text), old, new, 1))
}

// ENV-1: an empty file is told as one.
func TestAnEmptyTextIsToldAsOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n"} {
		_, err := envelope.Parse([]byte(text))
		if refusal := new(envelope.Refusal); !errors.As(err, &refusal) || refusal.Reason != envelope.NotJSON || !strings.Contains(err.Error(), "the text is empty") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
