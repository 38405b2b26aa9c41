// Package agentsuite has the cases of the suite for agents (CNF-2), each a check
// of one thing on a machine of its own, package node. conformance.Agent is its
// one caller. What one must have built for a case is the first part of its name:
// store, sync, refusal (of sets that nobody may take), activation, crash, spawn,
// end, orphans (what left its process group, SUP-5), stop, log, control.
package agentsuite
