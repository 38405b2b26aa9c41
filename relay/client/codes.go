package client

// Codes is the registry of the refusals and failures that this package raises.
func Codes() map[string]string {
	return map[string]string{
		"FL3201": "unreachable: the coordinator could not be reached, or the connection broke or stood still",
		"FL3202": "proxy-refused: the SOCKS5 proxy turned the connection down",
		"FL3203": "unexpected-answer: what answered does not speak the coordinator's protocol",
		"FL3204": "bad-request: the coordinator did not understand the request",
		"FL3205": "unavailable: the coordinator is draining or busy; the same call may succeed later",
		"FL3206": "malformed-tree: the structural gate refused the tree",
		"FL3207": "version-conflict: the monotonic gate refused the tree",
		"FL3208": "too-large: over the limit of the protocol",
		"FL3209": "not-stored: the coordinator could not write the tree; nothing changed",
		"FL3210": "outcome-unknown: the coordinator cannot tell whether the tree was stored",
	}
}
