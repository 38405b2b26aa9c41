// Flor-coordinator is the relay of a rete: it stores the latest published tree
// and serves each node its slice of it (package relay). The agent of the
// management node runs it like any workload.
//
//	flor-coordinator                        what the agent runs (SUP-1 to SUP-4)
//	flor-coordinator --rete S --set v42     the same by hand
//	flor-coordinator --check FILE           judge an artifact: 0, or 78 with the fault
//	flor-coordinator reset [--rete S]       forget the published tree and all versions
//
// Exit codes (SUP-3): 0 stopped when told to; 78 this configuration or state
// cannot be served, do not try again; anything else is a crash, a busy port
// included, because it may free up (CRD-1).
//
// State lives in FLORWL_STATE_DIR alone. A damaged tree is set aside and said in
// the log and in the agent's status, until a publish repairs it (CRD-7).
package main
