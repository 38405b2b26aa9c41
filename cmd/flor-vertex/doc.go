// Flor-vertex is the forwarder of a node (package vertex). The node's agent
// runs it as a workload.
//
//	flor-vertex                                what the agent runs (SUP-1 to SUP-4)
//	flor-vertex --rete S [--name N] [--set V]  the same by hand
//	flor-vertex --check FILE                   judge an artifact: 0, or 78 with every fault
//
// It reads its artifact and the identities below FLORWL_SCOPE_ROOT, and keeps
// no state. On its control channel (SUP-11) it takes a new artifact without a
// restart where only tables changed (VTX-16), tells which ports are open, and
// drains. SIGHUP makes it read identities again at once (VTX-12).
//
// Exit codes (SUP-3): 0 stopped and drained; 78 this artifact or identity store
// cannot be served, do not try again (VTX-13, VTX-18); anything else is a crash.
// A busy port and a missing certificate are neither: they are named by
// "ready" and tried again while everything else serves.
package main
