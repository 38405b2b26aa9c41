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
// # Runbook
//
// State lives in FLORWL_STATE_DIR alone, which the agent sets to
// <scope>/workloads/coordinator:
//
//	tree.json                  the tree that was published last, as it was published
//	floors.json                the highest version of every node, departed ones too
//	coordinator.lock           held while a coordinator runs; holds nothing
//	tree.json.corrupt-<UTC>    what was unreadable at a start, kept for a look
//
// It holds no key and no secret, and nothing that the repository of the compiled
// tree does not have, but for the floors of nodes that have departed.
//
// When it is lost: no node stops, and none is changed. Agents go on with what they
// have and ask again. Nothing can be published until a coordinator is back, so that
// nobody can be added or revoked.
//
// Back up: copy tree.json and floors.json, floors.json first. Each is replaced
// whole, the floors before the tree, so that a copy taken while it runs is good in
// this order or is raised at the start. A backup is a convenience: publishing the
// compiled tree again brings the same back.
//
// Restore: stop the workload, put the two files into the state directory with mode
// 0600 and the owner of the directory, start it. A tree older than the last one is
// harmless: agents refuse what is older than they have, and wait for the next
// publish. Publish the current compiled tree then. Without a backup: start with an
// empty directory and publish. Where no version is on record, the first tree is
// taken as it comes.
//
// Move to another machine: give the coordinator to the other node in the YAML,
// compile with --move-coordinator and publish to the old one, so that every agent
// learns where to ask; keep the old one until the last has, because a node that
// missed it must be enrolled again. On the new machine it starts with an empty
// directory; publish the same tree to it. Copying the two files instead is as good,
// and keeps the floors of departed nodes.
//
// A damaged file: the start sets it aside, says so in the log (FL3123, FL3124) and
// in the agent's status, and fetches get 503 until a publish, which is the cure
// (CRD-7). Nothing is deleted; remove what was set aside by hand.
//
// FL3125, state of a newer program: nothing was touched. Upgrade flor-coordinator;
// to stay with the old one, move the files away and publish again.
//
// Disk full, or the directory may not be written: publishes get 507 and change
// nothing, fetches are served on, also after a start. Make room and publish again.
// A publish needs room for the tree once more.
//
// A publish is refused as a version conflict: the tree is older than what was
// published from elsewhere; pull and compile on top of it. If the record is wrong,
// after a garbage publish for example, stop the workload and run reset: it forgets
// tree and floors, agents keep their own marks.
package main
