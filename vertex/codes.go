package vertex

// The codes of payloads that a vertex does not serve.
const (
	codeMesh        = "FL4401"
	codeTrustDomain = "FL4402"
	codePayload     = "FL4403"
	codeRestart     = "FL4404"
)

// Codes returns the meaning of every code that this package raises (FL40xx to
// FL44xx), for the registry of the contract.
func Codes() map[string]string {
	codes := map[string]string{
		codeMesh:        "mesh-engine-absent: the payload is of kind mesh and this build has no mesh engine",
		codeTrustDomain: "foreign-trust-domain: the payload belongs to another trust domain than this node's identities",
		codePayload:     "unservable-payload: the payload breaks a rule of its format",
		codeRestart:     "restart-needed: the new payload differs in more than its tables",
	}
	for _, row := range reasons {
		codes[row.code] = row.name + ": " + row.meaning
	}
	return codes
}
