package envelope

import (
	"bytes"
	"strconv"
	"strings"
)

// safeDigits is how many digits an integer may have and still be exact in a
// double whatever they are.
const safeDigits = 15

// exactNumber tells whether a JSON number token denotes exactly the decimal
// value that its canonical form denotes (ENV-7). RFC 8785 writes a number as
// the shortest decimal that reads back as the same double, so that is what the
// token is compared with, digit by digit. Negative zero is never exact.
func exactNumber(token []byte) bool {
	if len(token) <= safeDigits && bytes.IndexFunc(token, isNotDigit) < 0 {
		return true
	}
	value, err := strconv.ParseFloat(string(token), 64)
	if err != nil || value == 0 && token[0] == '-' {
		return false
	}
	// Both have the same sign.
	return decimalOf(string(token)) == decimalOf(strconv.FormatFloat(value, 'e', -1, 64))
}

// decimal is the value 0.digits × 10^point, with no zero at either end of
// digits; zero has none.
type decimal struct {
	digits string
	point  int
}

// decimalOf reads the magnitude of a JSON number whose exponent fits an int;
// one that does not is no finite double, and was refused before, unless the
// number is zero.
func decimalOf(number string) decimal {
	magnitude := strings.ToLower(strings.TrimPrefix(number, "-"))
	mantissa, exponent, _ := strings.Cut(magnitude, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{}
	}
	shift, _ := strconv.Atoi(exponent)
	point := shift + len(digits) - len(fraction)
	return decimal{strings.TrimRight(digits, "0"), point}
}

func isNotDigit(r rune) bool { return r < '0' || r > '9' }
