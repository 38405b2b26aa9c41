package identity

import (
	"errors"
	"fmt"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Reason is why identity material was refused. The list is closed.
type Reason string

// Reasons of this package.
const (
	BadAnchor   Reason = "bad-anchor"   // ca.crt or rete.json cannot be used
	Absent      Reason = "absent"       // no certificate or no key for the ID
	Unreadable  Reason = "unreadable"   // a file that cannot be read or parsed
	WrongDomain Reason = "wrong-domain" // an ID of another trust domain
	WrongKind   Reason = "wrong-kind"   // an ID of which no kind is known
	WrongID     Reason = "wrong-id"     // not exactly one URI SAN, or another than the ID
	WrongUsage  Reason = "wrong-usage"  // usages that do not fit the kind
	NotValidNow Reason = "not-valid-now"
	BadChain    Reason = "bad-chain"    // not issued by ca.crt
	KeyMismatch Reason = "key-mismatch" // the key is not the certificate's
)

var codes = map[Reason]struct{ code, meaning string }{
	BadAnchor:   {"FL2101", "the trust anchor of a scope cannot be read"},
	Absent:      {"FL2102", "no certificate or no key for a SPIFFE ID"},
	Unreadable:  {"FL2103", "a certificate or key cannot be read"},
	WrongDomain: {"FL2104", "a SPIFFE ID of another trust domain"},
	WrongKind:   {"FL2105", "a SPIFFE ID of no known kind"},
	WrongID:     {"FL2106", "a certificate whose URI SANs are not exactly the SPIFFE ID"},
	WrongUsage:  {"FL2107", "a certificate whose usages do not fit its kind"},
	NotValidNow: {"FL2108", "a certificate outside its validity"},
	BadChain:    {"FL2109", "a certificate that the scope's CA did not issue"},
	KeyMismatch: {"FL2110", "a key that is not its certificate's"},
}

// Code returns the reason's stable code; a word that is not in the list has none.
func (r Reason) Code() string { return codes[r].code }

// Codes maps every code this package raises to its reason and its meaning, in
// one line.
func Codes() map[string]string {
	m := make(map[string]string, len(codes))
	for reason, c := range codes {
		m[c.code] = string(reason) + ": " + c.meaning
	}
	return m
}

// ErrAbsent matches, with errors.Is, a refusal because there is no material:
// the principal may be enrolled later (SET-8, VTX-12).
var ErrAbsent = errors.New("no such identity")

// Refusal says whose material was refused, and why. Match it with errors.As.
type Refusal struct {
	Reason Reason
	ID     spiffeid.ID // zero where no principal is concerned
	Err    error       // in words; never nil
}

// Error prints code, reason, ID and words.
func (r *Refusal) Error() string {
	if r.ID.IsZero() {
		return fmt.Sprintf("%s %s: %v", r.Code(), r.Reason, r.Err)
	}
	return fmt.Sprintf("%s %s: %s: %v", r.Code(), r.Reason, r.ID, r.Err)
}

// Code returns the stable code of the reason.
func (r *Refusal) Code() string { return r.Reason.Code() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Is tells that a refusal for absence is ErrAbsent.
func (r *Refusal) Is(target error) bool { return target == ErrAbsent && r.Reason == Absent }

func refuse(reason Reason, id spiffeid.ID, format string, args ...any) error {
	return &Refusal{Reason: reason, ID: id, Err: fmt.Errorf(format, args...)}
}
