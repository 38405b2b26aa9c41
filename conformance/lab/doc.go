// Package lab raises whole retes out of the real programs, as an operator would,
// and looks at them as users do.
//
// What it offers on every system, without root, examples/quickstart uses: the
// programs built once ([Build]), a machine with directories and an agent of its
// own ([Node]), and an operator with a repository ([Operator]). On Linux, as
// root, [Raise] makes a rete of five nodes on hosts with addresses of their own
// (package netns), whose cables can be cut, whose ways can be made long and lossy
// (package udplink), and whose plugs can be pulled. The tests of this package are
// the scenarios: each prints what users saw and for how long. examples/soak runs
// such a rete for as long as one likes. What service managers do with agents is
// tried on a machine that systemd has booted (package systemd).
//
// Commands are run, never linked: what passes here passes for whoever installs
// the programs. Nothing here is part of the product.
package lab
