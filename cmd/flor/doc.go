// Command flor is the node's side of a rete: it enrols a machine from its
// bundle, runs the agent of a scope, and asks a running agent.
//
//	flor enroll <bundle> [--as SCOPE] [--expect-ca FINGERPRINT] [--no-start]
//	flor agent run [--rete SCOPE] [--log-stderr]
//	flor agent sync [--dry-run] [--from FILE] [--json]
//	flor agent status [--json] [--watch]
//	flor agent restart <workload>
//	flor version [--json]
//
// --rete may be left out where one scope is enrolled; with several the error
// lists them. Data goes to standard output, prose to standard error. Exit codes:
//
//	enroll   0 enrolled, 1 refused, 2 wrong usage, 3 could not
//	run      0 clean stop, 69 the log destination does not answer, 78 a person
//	         has to set something right first, 1 else (SUP-3)
//	sync     0 applied or unchanged, 1 refused, 2 wrong usage, 3 could not
//	status   0 healthy, 1 degraded, 2 wrong usage, 3 not running (AGT-10)
//	restart  0 accepted, 1 refused, 2 wrong usage, 3 not running
//
// Wrong usage is a wrong directory in the environment, too. A bundle whose
// passphrase nobody can give is refused. Not running is also a scope that is not
// enrolled, and an agent that does not answer, which is named; only sync waits
// longer than five seconds for one, once it has answered.
//
// The program wires packages together and decides nothing that they could:
// store (where things are), store/bundle (enrolment), supervise/agent (the
// daemon) and supervise/control (asking it). It implements BND-2, AGT-6's and
// AGT-10's command lines, and the choice of the log sink of OBS-1.
package main
