package bundle

import "fmt"

// Reason is why a bundle was refused. The list is closed.
type Reason string

// Reasons of this package. What envelope, schema and identity refuse inside a
// bundle comes wrapped in one of them; both codes are in the text.
const (
	TooLarge           Reason = "too-large"             // over 64 MiB or 1,024 entries
	Encrypted          Reason = "encrypted"             // a JWE: unwrap it first
	CutShort           Reason = "cut-short"             // the end of the archive is missing
	BadArchive         Reason = "bad-archive"           // not a plain ustar
	BadEntry           Reason = "bad-entry"             // not a regular file, mode 0600, time 0
	BadName            Reason = "bad-name"              // a name of none of the fixed shapes
	DuplicateEntry     Reason = "duplicate-entry"       // two entries of one name
	BadManifest        Reason = "bad-manifest"          // manifest.json is missing, not first, or not closed
	ContentDiffers     Reason = "content-differs"       // entries and manifest do not match
	BadCA              Reason = "bad-ca"                // ca.crt is no CA certificate
	BadTrust           Reason = "bad-trust"             // the trust block is not valid under ca.crt
	BadSignature       Reason = "bad-signature"         // the manifest is not signed by its trust block
	TrustDiffers       Reason = "trust-differs"         // the set's root carries another trust block
	BadSet             Reason = "bad-set"               // the set is not verified and coherent for the node
	BadPrincipals      Reason = "bad-principals"        // principals and certificates do not name each other
	BadCertificate     Reason = "bad-certificate"       // a principal's certificate or key does not hold
	BadPassphrase      Reason = "bad-passphrase"        // a wrong passphrase, or damaged ciphertext
	WorkFactor         Reason = "work-factor"           // the file asks for too much work
	NotInstalled       Reason = "installed-differently" // what was written does not read back
	UnsuitableContents Reason = "unsuitable-contents"   // what was to be packed is no bundle
	OtherEnrolment     Reason = "other-enrolment"       // the scope holds another rete, CA or node, or cannot be read
	NotTrustedHere     Reason = "not-trusted-here"      // nobody signed whom the scope would follow (ENV-12)
)

var codes = map[Reason]struct{ code, meaning string }{
	TooLarge:           {"FL2201", "a bundle over its limits"},
	Encrypted:          {"FL2202", "a bundle that is encrypted with a passphrase"},
	CutShort:           {"FL2203", "a bundle of which the end is missing"},
	BadArchive:         {"FL2204", "a bundle that is not a plain ustar archive"},
	BadEntry:           {"FL2205", "a bundle entry that is not a regular file of mode 0600 and time 0"},
	BadName:            {"FL2206", "a bundle entry of a name that bundles do not have"},
	DuplicateEntry:     {"FL2207", "a bundle with two entries of one name"},
	BadManifest:        {"FL2208", "a bundle without a valid manifest"},
	ContentDiffers:     {"FL2209", "a bundle whose entries are not those of its manifest"},
	BadCA:              {"FL2210", "a bundle whose ca.crt is no CA certificate"},
	BadTrust:           {"FL2211", "a bundle whose trust block is not valid under its ca.crt"},
	BadSignature:       {"FL2212", "a bundle that no signer of its trust block signed"},
	TrustDiffers:       {"FL2213", "a bundle whose set carries another trust block"},
	BadSet:             {"FL2214", "a bundle whose set does not verify for its node"},
	BadPrincipals:      {"FL2215", "a bundle whose principals and certificates do not name each other"},
	BadCertificate:     {"FL2216", "a bundle with a certificate or key that does not hold"},
	BadPassphrase:      {"FL2217", "a passphrase that does not open the bundle"},
	WorkFactor:         {"FL2218", "an encrypted bundle whose work factor is over the limit"},
	NotInstalled:       {"FL2219", "an enrolment that does not read back as it was written"},
	UnsuitableContents: {"FL2220", "contents that do not make a bundle"},
	OtherEnrolment:     {"FL2221", "a bundle of another trust domain, CA or node than the scope holds"},
	NotTrustedHere:     {"FL2222", "a bundle that nobody signed whom the scope would follow"},
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

// Refusal says why a bundle was turned down. Match it with errors.As.
type Refusal struct {
	Reason Reason
	Err    error // in words, with the next step; never nil
}

// Error prints code, reason and words.
func (r *Refusal) Error() string { return fmt.Sprintf("%s %s: %v", r.Code(), r.Reason, r.Err) }

// Code returns the stable code of the reason.
func (r *Refusal) Code() string { return r.Reason.Code() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(reason Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Err: fmt.Errorf(format, args...)}
}
