// Command retectl is the operator's tool: it makes a rete, checks its YAML,
// compiles it into signed sets, publishes them, and issues the bundles with
// which machines enrol.
//
// It only wires packages together: compiler does the work, compiler/ca holds
// the authority, relay/client speaks to the coordinator, supervise/control to
// the local agent. Data goes to stdout, prose to stderr, and the exit code says
// how it went (CLI-5): 0 done, 1 found faults, 2 used wrongly, 3 could not.
//
// Where the contract is silent: access and diff are answers and exit 0 whatever
// they say; a name that the rete does not have is a fault (FL0712), a format or
// code that does not exist is wrong usage. Text for people names the first few
// where many are concerned; JSON always has all, and a schema_version. diff
// --against asks git for the revision. Completion reads names from the YAML as
// it is written, be it that it has faults. export-set hands out only what the
// node would accept. explain knows every code of the module, those of other
// programs included. compile ends with what is left to do until nodes have the
// tree: what needs a bundle, whether .flor is committed (where git knows), and
// what is not published; diff says the last as well, since it compares with the
// tree and not with what nodes were given.
//
// # Diagnostics for programs
//
// "retectl validate --format json" writes one object, of which the form is
// schema_version 1.1: members are added at a new minor, and nothing changes its
// meaning but at a new major.
//
//	{
//	  "schema_version": "1.1",
//	  "valid": false,                 no errors; warnings do not count
//	  "error_count": 1, "warning_count": 0,
//	  "diagnostics": [{               all of them, by place
//	    "code": "FL0203",             stable; retectl explain FL0203
//	    "reason": "unknown-group",    the code in words
//	    "severity": "error",          or "warning"
//	    "message": "role developer names the group \"apii\", which nobody declares",
//	    "place": {
//	      "file": "access.yaml",      below the root of the repository
//	      "start": {"line": 5, "column": 23},   both from 1, in characters
//	      "end": {"line": 5, "column": 27}      behind the last character
//	    },
//	    "excerpt": {                  absent where there is nothing to see
//	      "text": "  developer: {allow: [apii]}",   at most 160 characters of the line
//	      "start": 22, "end": 26      of text, from 0, in characters
//	    },
//	    "related": [{"message": …, "place": …, "excerpt": …}],   absent if empty
//	    "suggestion": "did you mean \"api\"?"                    absent if empty
//	  }]
//	}
//
// The exit code is that of the text form: 1 with errors, 0 without. --format
// sarif has the same findings as SARIF 2.1.0, for code scanners and editors.
//
// # Exchanging a signer
//
// A management signer is exchanged while the rete runs, in three steps, each of
// which is compiled and published before the next. "retectl ca rotate-signer"
// without a step says where the rete stands and what comes next; each step
// prints the line that rete.yaml must then have, and refuses to be taken too
// early.
//
//	retectl ca rotate-signer add next        a second signer
//	  edit rete.yaml: keys: [{name: primary, …}, {name: next, …}]
//	retectl compile && retectl publish       nodes learn of it
//	retectl ca rotate-signer switch next
//	  edit rete.yaml: next goes first
//	retectl compile --resign next && retectl publish     it signs every set
//	retectl ca rotate-signer retire primary
//	  edit rete.yaml: keys: [{name: next, …}]
//	retectl compile && retectl publish       nodes refuse the old key for ever
//
// Give nodes the time to fetch between the steps: a minute for those that are
// on. A machine that was away for a step follows all the same. One that has seen
// the new signer listed believes it for that; one that has never heard of it
// believes it by the CA, as long as its clock lies within the certificate's
// validity. Nobody at the centre knows what each node has (CRD-7): "flor agent
// status" on it does. A stolen key does not wait: --at-once skips what is left
// out, and says what that means. TestASignerIsRotatedOnARunningRete plays all of
// it, with two machines that are away for two publishes each; run it with -v to
// read what the tool and the nodes say.
//
// Each command has a file of its own name; console.go, usage.go, repository.go,
// keys.go, format.go, next_steps.go, host_advice.go and completion.go have what
// they share. Rules: PKI-1, PKI-2, PKI-4 … PKI-6, CLI-1 … CLI-5.
//
// What a command could not finish, because the disk was full or somebody pressed
// Ctrl-C, leaves nothing that would be in the way: the same command, given again,
// does it. A private key is never removed for that, it is set aside.
package main
