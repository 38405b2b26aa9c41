package envelope_test

import (
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/google/go-cmp/cmp"
)

// TestRFC8785Texts has the samples of RFC 8785, sections 3.2.2 and 3.2.3.
func TestRFC8785Texts(t *testing.T) {
	t.Parallel()
	// The published sample spells the first number 333333333.33333329, which
	// ENV-7 refuses; the next test has it.
	primitives := `{
  "numbers": [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`
	sorting := `{
  "\u20ac": "Euro Sign",
  "\r": "Carriage Return",
  "\ufb33": "Hebrew Letter Dalet With Dagesh",
  "1": "One",
  "\ud83d\ude00": "Emoji: Grinning Face",
  "\u0080": "Control",
  "\u00f6": "Latin Small Letter O With Diaeresis"
}`
	tests := map[string]struct{ text, want string }{
		"primitives, section 3.2.2": {primitives,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		"sorting, section 3.2.3": {sorting,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		"nested objects":           {`{"b":{"d":1,"c":[{"f":1,"e":2}]},"a":0}`, `{"a":0,"b":{"c":[{"e":2,"f":1}],"d":1}}`},
		"no HTML escapes":          {`"<\u0026>\u2028"`, "\"<&>\u2028\""},
		"control characters":       {`"\u0000\u0008\u0009\u000a\u000c\u000d\u001f\u007f"`, "\"\\u0000\\b\\t\\n\\f\\r\\u001f\u007f\""},
		"white space":              {" [ 1 ,\t2 ] \r\n", `[1,2]`},
		"no Unicode normalisation": {`{"e\u0301":1,"\u00e9":2}`, "{\"e\u0301\":1,\"é\":2}"},
		"names that begin alike":   {`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := envelope.Canonical([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Error(diff)
			}
			again, err := envelope.Canonical(got)
			if err != nil || string(again) != string(got) {
				t.Errorf("the canonical form has another canonical form: %s, %v", again, err)
			}
		})
	}
}

func TestRFC8785NumberThatIsNotExact(t *testing.T) {
	t.Parallel()
	_, err := envelope.Canonical([]byte(`{"numbers": [333333333.33333329]}`))
	wantReason(t, err, envelope.InexactNumber)
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want envelope.Reason
	}{
		"two values":       {`1 2`, envelope.NotJSON},
		"a duplicate name": {`{"a":1,"\u0061":2}`, envelope.DuplicateName},
		"65 nested":        {strings.Repeat("[", 65) + strings.Repeat("]", 65), envelope.TooDeep},
		"too much":         {`"` + strings.Repeat("x", envelope.MaxEnvelope) + `"`, envelope.TooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.Canonical([]byte(tc.text))
			wantReason(t, err, tc.want)
		})
	}
}
