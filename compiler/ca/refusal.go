package ca

// Reason names one refusal of this package. The list is closed.
type Reason string

// The reasons, each with a stable code (see Codes).
const (
	ReasonKeyAbsent            Reason = "key-absent"
	ReasonKeyExists            Reason = "key-exists"
	ReasonKeyMalformed         Reason = "key-malformed"
	ReasonKeyUnsuitable        Reason = "key-unsuitable"
	ReasonKeyMismatch          Reason = "key-mismatch"
	ReasonWrongPassphrase      Reason = "wrong-passphrase"
	ReasonPassphraseRequired   Reason = "passphrase-required"
	ReasonWorkFactor           Reason = "work-factor"
	ReasonCertificateMalformed Reason = "certificate-malformed"
	ReasonRootUnsuitable       Reason = "root-unsuitable"
	ReasonIDUnsuitable         Reason = "id-unsuitable"
	ReasonValidityUnsuitable   Reason = "validity-unsuitable"
	ReasonRequestRefused       Reason = "request-refused"
	ReasonNameUnsuitable       Reason = "name-unsuitable"
)

// registered is the one place where a reason meets its code and its meaning.
var registered = map[Reason]struct{ code, meaning string }{
	ReasonKeyAbsent:            {"FL0601", "key-absent: the key ring holds no such private key"},
	ReasonKeyExists:            {"FL0602", "key-exists: a key of that name is there already and is not overwritten"},
	ReasonKeyMalformed:         {"FL0603", "key-malformed: the file is not a private key in a form that is read here"},
	ReasonKeyUnsuitable:        {"FL0604", "key-unsuitable: the key is not an Ed25519 key"},
	ReasonKeyMismatch:          {"FL0605", "key-mismatch: the private key does not belong to the certificate"},
	ReasonWrongPassphrase:      {"FL0606", "wrong-passphrase: the passphrase does not open this key"},
	ReasonPassphraseRequired:   {"FL0607", "passphrase-required: the key is encrypted and no passphrase was given"},
	ReasonWorkFactor:           {"FL0608", "work-factor: the key file asks for fewer or more key derivation rounds than is accepted"},
	ReasonCertificateMalformed: {"FL0609", "certificate-malformed: the file is not one PEM certificate"},
	ReasonRootUnsuitable:       {"FL0610", "root-unsuitable: the certificate cannot be the root of this rete"},
	ReasonIDUnsuitable:         {"FL0611", "id-unsuitable: no certificate of that profile is issued for this SPIFFE ID"},
	ReasonValidityUnsuitable:   {"FL0612", "validity-unsuitable: the period asked for is empty, or the root has ended"},
	ReasonRequestRefused:       {"FL0613", "request-refused: the certificate request is not one that can be signed"},
	ReasonNameUnsuitable:       {"FL0614", "name-unsuitable: the name cannot be a file name in the key ring"},
}

// Codes lists every code of this package with its meaning.
func Codes() map[string]string {
	codes := make(map[string]string, len(registered))
	for _, r := range registered {
		codes[r.code] = r.meaning
	}
	return codes
}

// Refusal is something that was understood and turned down. Match it with
// errors.As; Reason says what it was, Err says it in words.
type Refusal struct {
	Reason Reason
	Err    error
}

// Code is the stable code of the refusal, "FL06nn".
func (r *Refusal) Code() string { return registered[r.Reason].code }

func (r *Refusal) Error() string {
	return r.Code() + " " + string(r.Reason) + ": " + r.Err.Error()
}

func (r *Refusal) Unwrap() error { return r.Err }
