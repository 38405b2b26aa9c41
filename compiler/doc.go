// Package compiler turns the YAML of a rete into one signed set of artifacts
// for each node. retectl is its front; a program of an operator's own may call
// it as well.
//
// The way of the data, each step a function of the one before:
//
//	facade.Load   files           -> Source: what is written, with places   (CMP-1, CMP-2)
//	Validate      Source          -> View: resolved, defaulted, judged      (CMP-3 … CMP-11)
//	Project       View            -> payloads of each node                  (CMP-12 … CMP-14)
//	Compile       payloads, tree  -> versions, signatures, compiled tree    (CMP-15 … CMP-18)
//
// # Validation
//
// [Validate] reports every fault of a source at once, sorted by place, each
// once, and none that merely follows from another: a service on a misspelt node
// is one fault, and what stands in a file that is no YAML is not missed. For
// that each step marks what it could not make out, and later steps leave it
// alone. Faults are diagnostics of package diag; [Registry] has a title, a
// cause and a fix for each code.
//
// Where the contract is silent: all listeners of a node, UDP and TCP alike, have
// different addresses, and what the coordinator serves counts among them; a
// service may be at the same address as another; a user who is not alone on a
// node needs a port or forwards of their own, and gets no SOCKS5 port by
// default; two vertices with one address are a fault, and only warned of where
// the address is private or loopback, because machines and sites have those each
// for themselves; a service may be an operator, beside at least one user; a role or a
// group without effect is warned of, and so is a local listener that is open to
// the network, because it asks for no password.
//
// # Access
//
// Who reaches what is computed once, when the view is made, from the members of
// groups and the groups of roles; principals with the same roles share one list
// of targets, so that the cost grows with the size of the answer. The view keeps
// the place of every grant, see [Principal.Grants].
//
// # Answers
//
// [View.Access] answers who reaches what, and why (CLI-3). [Compare] tells what
// a source would change against a compiled tree, in the words of an operator
// (CLI-2): who may reach what, which settings move, which workloads start, stop,
// restart or swap, and whom a move of the coordinator would strand (CMP-18). Both
// sides are read out of the sets alone, so that an earlier tree is compared by
// the same code; a coordinator's node is where its artifact is, and the address
// of a node is known as long as somebody reaches a service there. Stranded is
// who stays and does not run the coordinator that goes. [CompiledTree.Export]
// hands out one node's set, once its signatures hold.
//
// [DueBundles] tells which machines must enrol anew because somebody on them has
// no certificate: a compiled set only names principals, and a bundle alone brings
// their keys.
//
// [Explain] gives the page of a code: cause, example, fix. The example is a
// golden test, pages/FLnnnn.txtar, that yields exactly the code.
//
// Limits: those of the facade for sources, and of package envelope for what is
// compiled.
package compiler
