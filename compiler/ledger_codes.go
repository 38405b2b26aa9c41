package compiler

import (
	"errors"
	"fmt"
)

// Reason names one refusal of the ledger, the compiled tree or the projection.
// The list is closed.
type Reason string

// The reasons, each with a stable code (see Codes).
const (
	ReasonLedgerDamaged     Reason = "ledger-damaged"
	ReasonLedgerNewer       Reason = "ledger-newer"
	ReasonVersionsUsedUp    Reason = "versions-used-up"
	ReasonCompileRunning    Reason = "compile-running"
	ReasonJournalDamaged    Reason = "journal-damaged"
	ReasonNothingCompiled   Reason = "nothing-compiled"
	ReasonTreeUnsuitable    Reason = "tree-unsuitable"
	ReasonTreeStale         Reason = "tree-stale"
	ReasonCoordinatorMoved  Reason = "coordinator-moved"
	ReasonNoSigner          Reason = "no-signer"
	ReasonProjectionInvalid Reason = "projection-invalid"
	ReasonUnknownNode       Reason = "unknown-node"
	ReasonTooLarge          Reason = "too-large"
	ReasonSourceFaults      Reason = "source-faults"
	ReasonBadBuildTime      Reason = "bad-build-time"
	ReasonSignerRetired     Reason = "signer-retired"
	ReasonStepSkipped       Reason = "step-skipped"
	ReasonRecordDamaged     Reason = "record-damaged"
	ReasonNothingToRevoke   Reason = "nothing-to-revoke"
	ReasonTreeEdited        Reason = "tree-edited"
)

// ledgerReasons is the one place where a reason meets its code and meaning.
var ledgerReasons = map[Reason]struct{ code, meaning string }{
	ReasonLedgerDamaged:     {"FL0501", "ledger-damaged: .flor/ledger.json cannot be read as a ledger"},
	ReasonLedgerNewer:       {"FL0502", "ledger-newer: .flor/ledger.json was written by a newer retectl"},
	ReasonVersionsUsedUp:    {"FL0503", "versions-used-up: a node has no version left to move to"},
	ReasonCompileRunning:    {"FL0504", "compile-running: another retectl is writing the compiled tree of this repository"},
	ReasonJournalDamaged:    {"FL0505", "journal-damaged: an unfinished compile left a journal that cannot be read"},
	ReasonNothingCompiled:   {"FL0506", "nothing-compiled: the repository has no compiled tree yet"},
	ReasonTreeUnsuitable:    {"FL0507", "tree-unsuitable: the compiled tree holds what a compile would not have written"},
	ReasonTreeStale:         {"FL0508", "tree-stale: the compiled tree is not what the YAML now gives"},
	ReasonCoordinatorMoved:  {"FL0509", "coordinator-moved: the node or the address of the coordinator changed"},
	ReasonNoSigner:          {"FL0510", "no-signer: no listed management signer can sign here"},
	ReasonProjectionInvalid: {"FL0511", "projection-invalid: the compiler made something that its consumer would refuse"},
	ReasonUnknownNode:       {"FL0512", "unknown-node: the rete has no such node"},
	ReasonTooLarge:          {"FL0513", "too-large: what was compiled is over a limit of the contract"},
	ReasonSourceFaults:      {"FL0514", "source-faults: the YAML has faults, so nothing was compiled"},
	ReasonBadBuildTime:      {"FL0515", "bad-build-time: SOURCE_DATE_EPOCH is not a time in seconds"},
	ReasonSignerRetired:     {"FL0516", "signer-retired: the YAML lists a signing key that was retired, and nodes never take one back"},
	ReasonStepSkipped:       {"FL0517", "step-skipped: a step of a signer's rotation is not done yet for every node"},
	ReasonRecordDamaged:     {"FL0518", "record-damaged: a record below .flor cannot be read"},
	ReasonNothingToRevoke:   {"FL0519", "nothing-to-revoke: the issuance log has no valid certificate of that principal or serial"},
	ReasonTreeEdited:        {"FL0520", "tree-edited: the compiled tree is not as it was written"},
}

// ledgerCodes are the codes of this half of the package, merged by Codes.
func ledgerCodes() map[string]string {
	codes := make(map[string]string, len(ledgerReasons))
	for _, r := range ledgerReasons {
		codes[r.code] = r.meaning
	}
	return codes
}

// Refusal is something about the repository that was understood and turned
// down. Match it with errors.As; Reason says what, Err says it in words.
type Refusal struct {
	Reason Reason
	Err    error
}

// Code is the stable code of the refusal, "FL05nn".
func (r *Refusal) Code() string { return ledgerReasons[r.Reason].code }

func (r *Refusal) Error() string {
	return r.Code() + " " + string(r.Reason) + ": " + r.Err.Error()
}

func (r *Refusal) Unwrap() error { return r.Err }

// refuse builds a Refusal from words.
func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// IsRefused reports whether err is a Refusal for that reason.
func IsRefused(err error, reason Reason) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Reason == reason
}

func ledgerDamaged(cause error) error {
	return refuse(ReasonLedgerDamaged, "%s: %w; restore it from git, or remove it and compile again (versions are then taken from the compiled tree)", ledgerFile, cause)
}

// ledgerUnmerged says what to do about two branches that were both compiled:
// one of them is as good as the other, since what is signed next goes above both.
func ledgerUnmerged() error {
	return refuse(ReasonLedgerDamaged, "%s: git left a merge conflict in it; solve those in the YAML, take %s and %s as one side has them (git checkout --theirs %s), and compile again: versions that the other side has published are learnt from the coordinator", ledgerFile, ledgerFile, treeDir, florDir)
}

func ledgerNewer(version string) error {
	return refuse(ReasonLedgerNewer, "%s has schema_version %q, this retectl knows %s: upgrade retectl", ledgerFile, version, LedgerSchemaVersion)
}
