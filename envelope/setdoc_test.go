package envelope_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAppendSetWritesOneShape(t *testing.T) {
	t.Parallel()
	got := envelope.AppendSet([]byte("before "), []byte("{\"a\": 1}\n"), []byte(`{}`))
	if diff := cmp.Diff("before {\"artifacts\":[\n{\"a\": 1},\n{}\n]}\n", string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestParseSetGivesSubSlices: a member is the document's own bytes (ENV-17),
// and appending to one cannot overwrite the next.
func TestParseSetGivesSubSlices(t *testing.T) {
	t.Parallel()
	doc := []byte("\n{ \"artifacts\" : [ {\"a\":\"\\u0061\"} ,\n {\"b\" : [ 1.0 ]}\t] }\n\n")
	members, err := envelope.ParseSet(doc)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{string(members[0]), string(members[1])}
	if diff := cmp.Diff([]string{`{"a":"\u0061"}`, `{"b" : [ 1.0 ]}`}, got); diff != "" {
		t.Error(diff)
	}
	if at := bytes.Index(doc, []byte(`{"a"`)); &members[0][0] != &doc[at] {
		t.Error("a member is a copy")
	}
	_ = append(members[0], "overwritten"...)
	if string(members[1]) != got[1] {
		t.Error("appending to a member changed the next")
	}
}

func TestParseSetRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		doc  string
		want envelope.Reason
	}{
		"nothing":                        {``, envelope.NotJSON},
		"no members":                     {`{"artifacts":[]}`, envelope.EmptySet},
		"no artifacts":                   {`{}`, envelope.MissingMember},
		"an array":                       {`[{}]`, envelope.WrongType},
		"an object of artifacts":         {`{"artifacts":{}}`, envelope.WrongType},
		"null artifacts":                 {`{"artifacts":null}`, envelope.WrongType},
		"artifacts in capitals":          {`{"Artifacts":[{}]}`, envelope.NameCase},
		"a cut name":                     {`{"art`, envelope.NotJSON},
		"a cut second name":              {`{"artifacts":[{}],"art`, envelope.NotJSON},
		"nothing after the members":      {`{"artifacts":[{}] 1`, envelope.NotJSON},
		"another name":                   {`{"members":[{}]}`, envelope.UnknownMember},
		"another member before":          {`{"n":1,"artifacts":[{}]}`, envelope.UnknownMember},
		"another member after":           {`{"artifacts":[{}],"n":1}`, envelope.UnknownMember},
		"artifacts twice":                {`{"artifacts":[{}],"artifacts":[{}]}`, envelope.DuplicateName},
		"artifacts twice, once escaped":  {`{"artifacts":[{}],"\u0061rtifacts":[{}]}`, envelope.DuplicateName},
		"a member that is an array":      {`{"artifacts":[[]]}`, envelope.WrongType},
		"a member that is null":          {`{"artifacts":[{},null]}`, envelope.WrongType},
		"a member that is a string":      {`{"artifacts":["{}"]}`, envelope.WrongType},
		"a second document":              {`{"artifacts":[{}]}{}`, envelope.NotJSON},
		"a cut document":                 {`{"artifacts":[{}`, envelope.NotJSON},
		"a comma too many":               {`{"artifacts":[{},]}`, envelope.NotJSON},
		"invalid UTF-8 in a member":      {"{\"artifacts\":[{\"a\":\"\xff\"}]}", envelope.NotJSON},
		"a byte order mark":              {"\ufeff{\"artifacts\":[{}]}", envelope.NotJSON},
		"a member too many":              {`{"artifacts":[{}` + strings.Repeat(`,{}`, envelope.MaxMembers) + `]}`, envelope.TooLarge},
		"a member nested without bounds": {`{"artifacts":[` + strings.Repeat(`{"a":`, 1e5), envelope.NotJSON},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.ParseSet([]byte(tc.doc))
			wantReason(t, err, tc.want)
		})
	}
}

// TestSetDocumentsOverTheLimit: the size is judged before a byte is read.
func TestSetDocumentsOverTheLimit(t *testing.T) {
	t.Parallel()
	_, err := envelope.ParseSet(make([]byte, envelope.MaxSetPublish+1))
	wantReason(t, err, envelope.TooLarge)
}

// TestSetDocumentRoundTrip: what AppendSet joins, ParseSet splits.
func TestSetDocumentRoundTrip(t *testing.T) {
	t.Parallel()
	member := rapid.SampledFrom([]string{`{}`, `{"a":1}`, "{\n \"b\": [ ]\n}", `{"artifacts":[{}]}`, plain})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(member, 1, 8).Draw(t, "members")
		var texts [][]byte
		for _, m := range want {
			texts = append(texts, []byte(m))
		}
		members, err := envelope.ParseSet(envelope.AppendSet(nil, texts...))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range members {
			got = append(got, string(m))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
