package compiler

import (
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/facade"
)

// Defaults and bounds of the section rete.
const (
	day = 24 * time.Hour

	defaultCADays        = 3650
	defaultSignerDays    = 365
	defaultPrincipalDays = 90
	maxDays              = 36500

	minInterval = time.Second
	maxInterval = 24 * time.Hour
)

// rete reads the section of that name. Where it is missing as a whole, that is
// the one fault.
func (v *validator) rete() {
	r := v.src.Rete
	if r == nil {
		if !v.src.Unread() && !v.src.Mentions("rete") {
			v.missing(v.anchor(), "the section `rete`", "`rete: {name: …, ca: {cert: certs/ca.crt}, signers: …}`")
		}
		return
	}
	v.trustDomain(r)
	v.view.Validity = Validity{
		CA:         v.days(r.CA.ValidityDays, defaultCADays),
		Signers:    v.days(r.SignerValidityDays, defaultSignerDays),
		Principals: v.days(r.PrincipalsValidityDays, defaultPrincipalDays),
	}
	v.pollInterval(r.PollInterval)
	v.certificates(r)
}

func (v *validator) trustDomain(r *facade.Rete) {
	if !r.Name.Given() {
		if !r.Faulty {
			v.missing(r.At, "`rete.name`, the trust domain,", "`name: <name>`")
		}
		return
	}
	td, err := spiffeid.TrustDomainFromString(r.Name.V)
	if err != nil || td.Name() != r.Name.V {
		v.found.Add(badTrustDomain.At(r.Name.At, "%q is no trust domain: it may have a-z, 0-9, dot, - and _", r.Name.V))
		return
	}
	v.view.TrustDomain = td
}

func (v *validator) days(n facade.Value[int], otherwise int) time.Duration {
	switch {
	case !n.Given():
		return time.Duration(otherwise) * day
	case n.V < 1 || n.V > maxDays:
		v.found.Add(badValidity.At(n.At, "validity_days is %d", n.V).Suggest("write a number from 1 to %d", maxDays))
	}
	return time.Duration(n.V) * day
}

func (v *validator) pollInterval(t facade.Text) {
	if !t.Given() {
		return
	}
	d, err := time.ParseDuration(t.V)
	if err != nil || d < minInterval || d > maxInterval {
		v.found.Add(badInterval.At(t.At, "poll_interval is %q", t.V).Suggest("write a number with its unit, from 1s to 24h, such as 5m"))
		return
	}
	v.view.PollInterval = d
}
