package install

import "fmt"

// Reason is why an install or a removal was refused. The list is closed.
type Reason string

// Reasons of this package.
const (
	Foreign        Reason = "foreign-file"    // something stands in the way that the receipt does not list
	NoReceipt      Reason = "no-receipt"      // nothing was installed there by flor
	BadReceipt     Reason = "bad-receipt"     // receipt.json cannot be read or says what it must not
	NewerReceipt   Reason = "newer-receipt"   // a newer flor wrote receipt.json; nothing was touched
	OtherMode      Reason = "other-mode"      // the prefix holds an install for somebody else
	MissingProgram Reason = "missing-program" // a program that is to be placed is not there
	MixedBuild     Reason = "mixed-build"     // the programs are not of one build
	NotInstalled   Reason = "not-read-back"   // what was written does not read back
)

var codes = map[Reason]struct{ code, meaning string }{
	Foreign:        {"FL5001", "something stands where flor is to be installed that its receipt does not list"},
	NoReceipt:      {"FL5002", "nothing was installed there by flor install"},
	BadReceipt:     {"FL5003", "the receipt of an install cannot be read"},
	NewerReceipt:   {"FL5004", "the receipt of an install was written by a newer flor"},
	OtherMode:      {"FL5005", "the prefix holds an install of the other mode"},
	MissingProgram: {"FL5006", "a program that is to be installed is not beside flor"},
	MixedBuild:     {"FL5007", "the programs that are to be installed are not of one build"},
	NotInstalled:   {"FL5008", "an installed file does not read back as it was written"},
}

// Code returns the reason's stable code; a word that is not in the list has none.
func (r Reason) Code() string { return codes[r].code }

// Codes maps every code this package raises to its meaning in one line.
func Codes() map[string]string {
	all := make(map[string]string, len(codes))
	for _, c := range codes {
		all[c.code] = c.meaning
	}
	return all
}

// Refusal says what was turned down, and what to do about it. Match it with
// errors.As; what the operating system refused comes as its own error.
type Refusal struct {
	Reason Reason
	Err    error // in words, with the next step; never nil
}

func refuse(r Reason, format string, args ...any) error {
	return &Refusal{Reason: r, Err: fmt.Errorf(format, args...)}
}

// Code returns the stable code of the reason.
func (r *Refusal) Code() string { return r.Reason.Code() }

// Error prints code, reason and words.
func (r *Refusal) Error() string { return fmt.Sprintf("%s %s: %v", r.Code(), r.Reason, r.Err) }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }
