package config

import "fmt"

type reason string

const (
	malformed  reason = "malformed-config"
	tooNew     reason = "config-too-new"
	tooOld     reason = "config-too-old"
	badVersion reason = "bad-schema-version"
	unservable reason = "unservable-config"
)

var registry = map[reason]struct{ code, meaning string }{
	malformed:  {"FL3401", "the payload of the coordinator's artifact is not the closed object it must be"},
	tooNew:     {"FL3402", "the payload of the coordinator's artifact is newer than the program"},
	tooOld:     {"FL3403", "the payload of the coordinator's artifact is older than the program reads"},
	badVersion: {"FL3404", "the payload of the coordinator's artifact has no schema_version of the form MAJOR.MINOR"},
	unservable: {"FL3405", "the payload of the coordinator's artifact names listeners that cannot be served"},
}

// Codes is the registry of the refusals that this package raises.
func Codes() map[string]string {
	codes := make(map[string]string, len(registry))
	for reason, entry := range registry {
		codes[entry.code] = string(reason) + ": " + entry.meaning
	}
	return codes
}

// Refusal says why a payload is not served. A coordinator that gets one exits 78
// (CRD-1, SUP-3).
type Refusal struct {
	Reason string // kebab-case
	Err    error  // every fault that was found, joined
}

func refuse(why reason, err error) error { return &Refusal{Reason: string(why), Err: err} }

// Code is the registry code.
func (r *Refusal) Code() string { return registry[reason(r.Reason)].code }

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s %s: coordinator payload: %v", r.Code(), r.Reason, r.Err)
}

func (r *Refusal) Unwrap() error { return r.Err }
