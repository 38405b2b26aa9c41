package envelope_test

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestRFC8785Numbers has the samples of RFC 8785, appendix B: the bits of a
// double and its canonical form. Written in plain decimal notation, each must
// come out as published.
func TestRFC8785Numbers(t *testing.T) {
	t.Parallel()
	samples := map[uint64]string{
		0x0000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	}
	for bits, want := range samples {
		value := math.Float64frombits(bits)
		for _, format := range []byte("feE") {
			token := strconv.FormatFloat(value, format, -1, 64)
			got, err := envelope.Canonical([]byte(token))
			if err != nil {
				t.Errorf("%s: %v", token, err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s: %s", token, diff)
			}
		}
	}
}

func TestExactNumbers(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // token -> canonical form
		"0": "0", "1": "1", "-1": "-1", "1.0": "1", "1e2": "100", "1E+2": "100", "0.1": "0.1",
		"100e-2": "1", "0.10": "0.1", "0e5": "0", "0.000": "0", "0e99999999999999999999": "0",
		"999999999999999": "999999999999999", "9007199254740991": "9007199254740991",
		"9007199254740992": "9007199254740992", "9007199254740994": "9007199254740994",
		"100000000000000000000000": "1e+23", "1e0000000000000000001": "10",
		"0.1000000000000000": "0.1", "5e-324": "5e-324", "-12.50": "-12.5",
	}
	for token, want := range tests {
		got, err := envelope.Canonical([]byte(token))
		if err != nil {
			t.Errorf("%s: %v", token, err)
		}
		if string(got) != want {
			t.Errorf("%s has the canonical form %s, want %s", token, got, want)
		}
	}
}

func TestInexactNumbersAreRefused(t *testing.T) {
	t.Parallel()
	for _, token := range []string{
		"9007199254740993", "-9007199254740993", "1e400", "-1e400", "-0", "-0.0", "-0e1", "-0e-99999999999",
		"0.1000000000000000055", "1e-400", "3e-324", "333333333.33333329", "99999999999999999999999",
		"1e99999999999999999999", "1e-99999999999999999999", "18446744073709551615", "0.30000000000000004441",
	} {
		_, err := envelope.Canonical([]byte(`{"a":[` + token + `]}`))
		wantReason(t, err, envelope.InexactNumber)
	}
}

// TestNumbersKeepTheirValue is ENV-7 as a law: a token passes exactly when its
// canonical form denotes the same decimal; the arithmetic here is another.
func TestNumbersKeepTheirValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		token := numberToken().Draw(t, "token")
		value, err := strconv.ParseFloat(token, 64)
		want := err == nil && !(value == 0 && token[0] == '-') && rational(token).Cmp(rational(shortest(value))) == 0
		form, err := envelope.Canonical([]byte(token))
		if (err == nil) != want {
			t.Fatalf("%s: error %v, but exact is %v", token, err, want)
		}
		if err == nil && rational(string(form)).Cmp(rational(token)) != 0 {
			t.Fatalf("%s became %s", token, form)
		}
	})
}

// numberToken draws JSON numbers, many of them near what a double holds.
func numberToken() *rapid.Generator[string] {
	spelled := rapid.StringMatching(`-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?`)
	double := rapid.Custom(func(t *rapid.T) string {
		format := rapid.SampledFrom([]byte("eEf")).Draw(t, "format")
		digits := rapid.IntRange(-1, 20).Draw(t, "digits")
		return strconv.FormatFloat(rapid.Float64Range(-1e30, 1e30).Draw(t, "value"), format, digits, 64)
	})
	return rapid.OneOf(spelled, double)
}

func shortest(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

func rational(token string) *big.Rat {
	r, _ := new(big.Rat).SetString(token)
	return r
}
