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
// retes/<scope>/workloads/coordinator below the state directory of flor, which is
// /var/lib/flor where it is installed for the system:
//
//	tree.json                  the tree that was published last, as it was published
//	floors.json                the highest version of every node, departed ones too
//	coordinator.lock           held while a coordinator runs; holds nothing
//	tree.json.corrupt-<UTC>    what was unreadable at a start, kept for a look
//
// It holds no key and no secret, and nothing that the repository of the compiled
// tree does not have, but for the floors of nodes that have departed.
//
// Memory: the tree once and, while one is published, the new one beside it.
//
// Open files: one for each node, because each has a question held here. Where they
// are not enough, the log says that no connection is accepted, and nodes that ask are
// left waiting: raise LimitNOFILE of the agent's unit, or ulimit -n where it is run by
// hand, and restart the agent.
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
// Restore: put the two files into the state directory with mode 0600 and the owner
// of the directory, and run flor agent restart coordinator; nobody publishes
// meanwhile. A tree older than the last one is harmless: agents refuse what is
// older than they have, and wait for the next publish. Publish the current compiled
// tree then. Without a backup: start with an empty directory and publish. Where no
// version is on record, the first tree is taken as it comes.
//
// Move to another machine: give both services of the coordinator to the other node
// in the YAML and compile with --move-coordinator. Publish to the old coordinator,
// so that every agent learns where to ask. Then retectl issue-bundle for the new
// machine and flor enroll there, its agent stopped, because it needs the keys of the
// two services: its coordinator starts with an empty directory. Publish the same
// tree once more, which goes to the new one, and see with flor agent status that
// all nodes are in sync. Copying the two files to the new machine instead keeps the
// floors of departed nodes, too.
//
// The old coordinator ends as soon as the agent beside it has the new set, so that a
// node that was away then asks where nobody is. It is given its set by hand: the
// operator writes it with retectl export-set --node NODE --out FILE, and on the node
// flor agent sync --from FILE takes it. cmd/retectl/GUIDE.md plays the move, with a
// node that misses it, and a test runs it.
//
// A damaged file: the start sets it aside, says so in the log (FL3123, FL3124) and
// in the agent's status, and fetches get 503 until a publish, which is the cure
// (CRD-7); each start until then says so again. Nothing is deleted; remove what was
// set aside by hand, once it is cured.
//
// FL3125, state of a newer program: nothing was touched. Upgrade flor-coordinator;
// to stay with the old one, move tree.json and floors.json away, run flor agent
// restart coordinator, which is not tried by itself, and publish again.
//
// Disk full or read-only, or the directory may not be written: publishes get 507 and
// change nothing, fetches are served on, also after a start. The answer says what was
// in the way. Mend that and publish again. A publish needs room for the tree once more.
//
// A publish is refused as a version conflict: the tree is older than what was
// published from elsewhere; pull and compile on top of it. If the record is wrong,
// after a garbage publish for example, stop the agent of the management node
// (systemctl stop flor-agent@<scope>, or whatever runs it), run flor-coordinator
// reset, start the agent and publish: it forgets tree and floors, agents keep their own
// marks. The program lies in lib/flor beside the bin directory of flor. FL3126 means
// that the agent, and with it the coordinator, still runs.
package main
