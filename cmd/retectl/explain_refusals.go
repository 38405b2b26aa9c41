package main

import (
	"strings"

	"github.com/florete/flor/compiler/diag"
)

// advice is what a page says of a refusal of the command beyond its meaning. It
// has no example: it is about the command line or the machine, not the YAML.
var advice = map[reason]struct{ cause, fix string }{
	reasonNoRepository: {"retectl was started outside of the repository, or --repo has a typing error.",
		"Change into the repository, or name it with --repo; \"retectl init\" makes a new one."},
	reasonExists: {"An earlier run made it, or something else has its name.",
		"Choose another name; or say --force where the command has it, once what is there may go."},
	reasonWouldChange: {"The YAML was changed, or a certificate replaced, and the tree was not compiled and committed with it.",
		"Run \"retectl compile\", and commit .flor together with the YAML."},
	reasonNoAgent: {"The machine is not enrolled in this rete, its agent is not running, or it runs for another user of the machine.",
		"See \"flor agent status\"; or name the way yourself, with --socks5, or with --direct on the management node."},
	reasonNoOperator: {"No operator works on this machine, or --as names somebody who is none here.",
		"Publish from a machine of an operator, or with --direct on the management node."},
	reasonSeveralOperators: {"More than one user with the role operator works on this machine.", "Choose with --as."},
	reasonNoPassphrase: {"A key or a bundle is encrypted, and retectl runs without a terminal.",
		"Say --passphrase-file (for a bundle --bundle-passphrase-file), or set RETECTL_PASSPHRASE."},
	reasonConflict: {"Somebody else published since, from another clone or branch; or the ledger was lost.",
		"Commit what the ledger has learnt, fetch everybody's YAML (git pull), compile and publish again."},
	reasonInsideRepository: {"Everybody who has a clone would have the key.", "Choose a place outside of the repository."},
	reasonTooLarge:         {"The name is that of another file.", "Name the right one."},
	reasonNotTaken: {"The agent has not fetched yet, refused the set, or could not start what is in it. What was published stays published.",
		"See \"flor agent status\" for what the agent says of the set; a longer --patience waits longer."},
	reasonUnknownName: {"The name has a typing error, or what it named was removed; a revision may be older than the first compiled tree.",
		"Use a name that stands in the YAML, or a revision that git knows and whose tree was compiled."},
}

// explainRefusal gives the page of a code of the command.
func explainRefusal(id string) (diag.Page, bool) {
	for reason, r := range reasons {
		if r.code != id {
			continue
		}
		a, known := advice[reason]
		title := strings.TrimPrefix(r.meaning, string(reason)+": ")
		return diag.Page{Code: diag.Code{ID: id, Reason: string(reason), Severity: diag.Error, Title: title, Cause: a.cause, Fix: a.fix}}, known
	}
	return diag.Page{}, false
}
