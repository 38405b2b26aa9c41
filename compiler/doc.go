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
// default; a service may be an operator, beside at least one user; a role or a
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
// Limits: those of the facade for sources, and of package envelope for what is
// compiled.
package compiler
