// Package program is the supervised-program contract as a library: what a
// program gets from the flor agent that runs it, and what it owes in return
// (SUP-1 … SUP-4, SUP-11). Tenants use it through [Main]; the platform's own
// programs through [Program], which adds flags for running them by hand.
//
// # What a program gets
//
// [Main] reads the [Context] from the environment, makes a logger for fd 2, and
// calls the program with a context that ends at SIGTERM. The payload of its
// artifact, which the agent has verified, comes with [Context.Decode]. A
// variable that is unset leaves its field empty and is missed only by what
// needs it, so a program runs by hand with what it uses.
//
// # What it owes
//
// To return when its context ends, having drained: that is exit 0. An error
// that [Reject] marks is exit 78, for a configuration that will never work;
// one that [Unavailable] marks is exit 69, for a host service that may come;
// any other is a crash (SUP-3).
//
// # Changes without a restart
//
// Whoever registers a handler with [Context.OnApply], [Context.Ready],
// [Context.OnReady], [Context.OnDrain] or [Context.ServeMetrics] has a control
// channel, HTTP on a unix socket (SUP-11), from then on:
//
//	POST /v1/apply  {"mgmt_artifact":"/path","dry_run":false}  {"result":"swapped"} or {"result":"restart"}
//	GET  /v1/ready                                             {"ready":true,"listening":[…],"waiting":[…]}
//	POST /v1/drain  {"within_ms":800}                          {"result":"drained"}
//	GET  /metrics                                              text
//
// The socket is for the workload's own user. That the channel cannot be opened
// is logged and not fatal: the workload is then restarted for each change. A
// handler may be called from any goroutine; offers come one at a time.
// [Channel] is the agent's end.
//
// # By hand, and in tests
//
// A program needs of the environment only what it uses: with the path of an
// artifact in FLORWL_MGMT_ARTIFACT it runs in a terminal. That is a whole
// envelope; its signature only has to look like one, as that of
// examples/tenant/files.json does. A test makes a Context out of fields, and
// package conformance has a suite for the built program.
//
// # How it gets onto a node
//
// The executable lies in the node's lib directory, ../lib/flor from the directory
// of flor unless FLOR_LIB_DIR says otherwise. The node's set names it in the
// inventory of its root, and has an artifact of the workload's name with its
// payload. retectl compiles neither for programs that are not flor's: a program of
// the operator's adds both to the compiled set and signs it anew, as the example
// of schema.Workload shows. The next set that retectl compiles is without it again,
// so such a node is the other program's to publish for.
//
// # Logging
//
// [NewLogger] writes one line with one write per record,
//
//	2026-04-20T12:00:00.123Z INFO component: message key=value
//
// with the workload's name before the component in a shared sink (once where
// both are the same word), and
// "<priority>name: " before all of it in a syslog datagram (OBS-2). The
// component is that of the program, or what a logger got with [ComponentKey].
// Whatever is not printable is escaped, keys lose what would end them early,
// and a record over [MaxRecord] is cut. A log daemon that is stuck delays
// nobody (OBS-1). An unknown level in FLOR_LOG is a warning; an unknown sink
// is exit 78. [Limit] keeps a warning that is repeated at wire rate to one in
// 10 s, with the number suppressed (OBS-4).
package program
