package compiler

import (
	"strings"

	"github.com/florete/flor/compiler/diag"
)

// advice is what a page says of a refusal beyond its meaning. A refusal
// concerns the repository as a whole and not a place in the YAML: it has no
// example.
type advice struct{ cause, fix string }

var refusalAdvice = map[Reason]advice{
	ReasonLedgerDamaged: {"The file was edited, or a merge of two branches left its marks in it.",
		"Restore it from git; or remove it and compile: versions are then taken from the compiled tree."},
	ReasonLedgerNewer:    {"Somebody else compiles this repository with a newer retectl.", "Upgrade retectl."},
	ReasonVersionsUsedUp: {"The version of the node was lifted to the highest number there is, by --floor or by what a coordinator said.", "Give the machine another node name, and enrol it anew."},
	ReasonCompileRunning: {"Another retectl is at work in the repository, or was cut short; the process is named.",
		"Wait for it. If it was cut short, \"retectl compile\" finishes what it began."},
	ReasonJournalDamaged:   {"The disk lost a part of .flor/journal.json, or somebody edited it.", "Restore .flor from git, remove the journal and .flor/staging, and compile."},
	ReasonNothingCompiled:  {"The repository is new, or .flor/compiled was not committed.", "Run \"retectl compile\"."},
	ReasonTreeUnsuitable:   {"A set was edited by hand, was signed by another authority, or something else lies in .flor/compiled.", "Restore .flor/compiled from git, or run \"retectl compile\", which signs anew what it does not recognise."},
	ReasonTreeStale:        {"The YAML was changed after the last compile.", "Run \"retectl compile\", and look at the changes with \"retectl diff\" before."},
	ReasonCoordinatorMoved: {"The management node, its address or its port changed. A node that has not fetched the new set before the old coordinator goes never finds the new one.", "See with \"retectl diff\" who would be stranded. If no node is enrolled yet, or you mean it, say --move-coordinator."},
	ReasonNoSigner:         {"No private key of a listed management signer is on this machine, or --signer names one that is not listed.", "Compile where the key is (\"retectl ca show\" tells), or copy it into the key ring."},
	ReasonProjectionInvalid: {"The compiler made a payload that its consumer would refuse, which is a defect of the compiler. Nothing was written.",
		"Please report it, with the YAML if you may."},
	ReasonUnknownNode:  {"The name has a typing error, or the node was removed.", "Use a name that stands under `nodes`."},
	ReasonTooLarge:     {"A node has more than its agent fetches, or the rete more than a coordinator takes.", "Let principals of that node reach less, or split the rete."},
	ReasonSourceFaults: {"The diagnostics that are shown with it are errors.", "Correct the YAML; each of them has a code of its own to explain."},
	ReasonBadBuildTime: {"The environment sets SOURCE_DATE_EPOCH to something else than seconds since 1970.", "Set it to a whole number, or unset it."},
	ReasonSignerRetired: {"A signer whose key left the sets of the rete is listed again.",
		"Make a signer with a name that was never used: \"retectl ca rotate-signer add NAME\"."},
	ReasonStepSkipped:     {"The next step of the rotation would leave nodes behind that have not seen the one before.", "Do first what the message names, and give nodes the time to fetch."},
	ReasonRecordDamaged:   {"A file below .flor was edited, or a merge of two branches left its marks in it.", "Restore the file from git."},
	ReasonNothingToRevoke: {"The name or serial has a typing error, what it names has expired, or was revoked before.", "Look into .flor/issued.jsonl for kind, name and serial."},
	ReasonTreeEdited:      {"A file of .flor/compiled was edited, removed or added by hand, or a merge chose lines of two versions.", "Restore .flor/compiled from git, or run \"retectl compile\", which signs it anew."},
}

// explainRefusal gives the page of a refusal by its code.
func explainRefusal(id string) (diag.Page, bool) {
	for reason, r := range ledgerReasons {
		if r.code != id {
			continue
		}
		a, known := refusalAdvice[reason]
		title := strings.TrimPrefix(r.meaning, string(reason)+": ")
		code := diag.Code{ID: id, Reason: string(reason), Severity: diag.Error, Title: title, Cause: a.cause, Fix: a.fix}
		return diag.Page{Code: code}, known
	}
	return diag.Page{}, false
}
