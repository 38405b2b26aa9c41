// Command flor is the node's side of a rete: it enrols a machine from its
// bundle, runs the agent of a scope, and asks a running agent.
//
//	flor install [--system|--user] [--prefix DIR] [--account ACCOUNT]
//	flor uninstall [--purge] [--prefix DIR]
//	flor enroll <bundle> [--as SCOPE] [--expect-ca FINGERPRINT] [--no-start]
//	flor agent run [--rete SCOPE] [--log-stderr]
//	flor agent sync [--dry-run] [--from FILE] [--json]
//	flor agent status [--json] [--watch]
//	flor agent restart <workload>
//	flor agent enable|disable
//	flor ping <service> [--as PRINCIPAL] [--json]
//	flor version [--json]
//	flor completion bash|zsh|fish|pwsh
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
//	enable, disable
//	         0 done and read back, 1 refused, 2 wrong usage, 3 no service manager
//	install, uninstall
//	         0 done and read back, 1 refused, 2 wrong usage, 3 could not
//	ping     0 connected, 1 refused, 2 wrong usage, 3 failed or cannot be told
//
// Wrong usage is a wrong directory in the environment, too. A bundle whose
// passphrase nobody can give is refused. Not running is also a scope that is not
// enrolled, and an agent that does not answer, which is named; only sync waits
// longer than five seconds for one, once it has answered.
//
// A ping makes one connection through the vertex's SOCKS5 port, as any program
// would. Which step it failed at it knows from the counters of the vertex; where
// other programs call the same service meanwhile, or the counters cannot be
// read, it knows no more than the SOCKS5 reply, and says so. To a vertex that
// speaks flor/1 a connection stands before the service was asked (VTX-6): one
// that ends at once is reported, one that ends later is not.
//
// Where flor was placed by "flor install", the receipt says in which mode, and
// enroll has the service manager run the agent (BND-2, BND-3). In system mode
// root enrols, and the scope belongs to the account that the receipt names.
//
// The program wires packages together and decides nothing that they could:
// store (where things are), store/bundle (enrolment), supervise/agent (the
// daemon), supervise/control (asking it), internal/install (files of an install)
// and internal/service (systemd, launchd). It implements BND-2, INS-3, AGT-6's
// and AGT-10's command lines, and the choice of the log sink of OBS-1.
package main
