// Package store is what a node keeps of a rete: where things lie, the sets that
// were admitted, what is known of them, and the lock that says who may change
// any of it. The agent and flor enroll are its callers; it verifies nothing that
// comes from the network (envelope and envelope/schema do) and stages only what
// was verified.
//
// # Layout
//
// [Resolve] computes the directories of an install from the environment and the
// place of the running executable. [Layout.MakeRuntimeRoot] and [SocketPath]
// refuse a runtime directory that somebody else could tamper with, and a socket
// path that the platform cannot bind (SET-1). [Layout.TakeRuntimeRoot] holds it for
// one agent. A scope root looks like this:
//
//	identity/            trust anchor and principals (package store/identity)
//	artifacts/mgmt/current      one line: the active set's directory, such as v42
//	artifacts/mgmt/sets/v42/    agent.json and <name>.json, immutable
//	artifacts/ctrl/             reserved
//	agent/state.json            node, mark, admitted sets, retired keys
//	workloads/<name>/           a workload's own
//
// A re-enrolment lies in enrolment/, laid out like a scope root, while it is put
// into place. Beside the root lie <scope>.lock, .next-<scope> (a whole root that
// is about to replace the scope) and .replaced-<scope>-<UTC> (one that was
// replaced by force, and is nobody's to remove but a person's). Names of scopes follow ENV-4 and do not end in
// .lock, .partial or .tmp, which the store keeps for itself.
//
// # A start
//
//	lock, err := store.LockScope(stateDir, scope) // AGT-1
//	s, err := store.Open(stateDir, scope)         // finishes SET-8
//	loaded, err := s.Load()                       // SET-4, SET-5, SET-6
//
// [Scope.Load] runs the active set if every member is what was admitted, else
// the newest retained set of which that holds, else the members of one whose
// root holds. Where the record of admissions is lost, the sets are judged by
// their signatures, nothing can be admitted any more, and every set stays.
//
// # A change
//
//	staged, err := s.Stage(set)        // sets/v43.partial; run checks on staged.Path(name)
//	state, err := s.Admit(staged)      // sets/v43, state.json, current: in this order
//	state, err = s.ConfirmMark(43)     // when the workloads have proved it
//
// At every instant a reader finds the old set or the new one (SET-3). The held
// trust is the block recorded with the active set, so a crash between record and
// flip changes nothing: at the next start the set that never became active is
// forgotten, with the retirements it would have brought.
//
// # An enrolment
//
// [Create] makes a scope (BND-2). [Scope.Replace] enrols one again: by what
// [Scope.Holding] tells the caller has judged the bundle, and the whole of it is
// written down before any of it counts, so that a crash leaves the old identity
// with the old set or the new with the new (BND-3, SET-8). [CreateInstead] moves
// a scope aside and makes another. [Open] finishes or undoes what a crash cut
// short, and so does [LockForEnrolment]; where retes/ belongs to root, only root
// can finish a CreateInstead, by enrolling again.
//
// Every point of all this is tried by TestCrash (SET-7).
//
// # Promises and limits
//
// All names below a scope root are resolved relative to its directory handle;
// a symbolic link among them is refused. Modes are exact whatever the umask:
// directories 0700, files 0600. A file of a newer flor is refused before
// anything is touched. Refusals are [Refusal] or [HeldError] and carry a code
// (FL20xx); a [UnknownError] means that the process must end as a crash
// (SET-2).
//
// An install as root for a service user names that user as Owner; the runtime
// base in system mode on darwin is /var/run/flor, since darwin has no /run.
// Group-writable counts as writable for others.
package store
