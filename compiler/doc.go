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
// alone. Who has a faulty name is judged like everybody else, and what names
// them as they should be called is right. Faults are diagnostics of package diag; [Registry] has a title, a
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
// # Durability
//
// A compile stages what it signed, decides by writing a journal, and moves the
// files into the tree (CMP-15). What a step needs is durable before the next
// one begins: file by file for a few nodes; on Linux, from 256 nodes on, by one
// flush of the file system at the end of each step, since forty thousand single
// ones take longer than all the rest. The price is that such a compile waits
// for what others have written to the same disk.
//
// # Cost
//
// Parsing, resolving and projecting are linear in source and answer; an
// untouched node is read and compared, and costs no signature and no write.
// BenchmarkCompile signs and writes as many artifacts by themselves, then
// compiles in full, without a change, and with a user more. Medians of three
// rounds on two virtual cores of a Xeon, ext4, with nothing else running, on
// 2026-11-30; each node has one principal beside itself, which reaches 20
// services (10 for the smallest rete):
//
//	nodes = 100, output 0.7 MiB    wall      cpu       allocs  peak MiB
//	  sign and write               0.03s    0.06s      38,635       1.7
//	  the same, flushed            0.04s    0.07s      38,651       1.7
//	  full                         0.16s    0.18s     130,900       1.9
//	  unchanged                    0.02s    0.02s      38,210       1.8
//	  one user more                0.03s    0.03s      44,508       1.8
//	nodes = 1,000, output 11.1 MiB
//	  sign and write               0.88s    1.41s     411,107       4.2
//	  the same, flushed            0.91s    1.42s     411,124       4.2
//	  full                         1.49s    2.22s   1,552,167       9.8
//	  unchanged                    0.18s    0.29s     395,012       8.9
//	  one user more                0.19s    0.29s     424,994       9.0
//	nodes = 10,000, output 109.3 MiB
//	  sign and write               5.06s    9.38s   4,030,409      22.5
//	  the same, flushed            5.31s    9.41s   4,030,425      22.5
//	  full                         9.27s   16.11s  14,616,287      60.9
//	  unchanged                    1.65s    2.79s   3,269,421      63.3
//	  one user more                1.64s    2.77s   3,540,261      66.1
//
// CMP-17 is about 10,000 nodes: full to sign-and-write is 1.83 by wall clock
// and 1.72 by processor (limit 2), unchanged to full 0.18 and 0.17 (limit 0.2),
// peak memory to output 0.56 (limit 4). The full compile is durable, what it is
// measured against is not; against the flushed one the ratio is 1.75. Another
// quiet run of that day had 1.60 and 0.11: runs differ by more than a fifth.
// The benchmark takes a minute and a half.
//
// Since then the check of payloads makes less garbage: a full compile of 10,000
// nodes makes 10,945,000 allocations, a quarter less. In three pairs of runs, one
// after the other on that machine while it did other work too, the processor time
// of the full compile was 12.2, 12.5 and 15.9 s after, 14.1, 18.5 and 14.1 s
// before. A further run of three rounds had a ratio to sign-and-write of 1.47 by
// processor and 2.31 by wall clock: over the limit, by the time that the compile
// waited for the disk. With nothing else running it is 1.87 by wall clock, 1.70 by
// processor and 1.79 against the flushed one, unchanged to full 0.17, peak 0.58.
//
// Smaller retes have larger ratios (4.9 and 1.7 above, up to 2.6 for 1,000 nodes
// in other runs) because part of the cost does not follow the artifacts: below
// 256 nodes each file and each directory is synced by itself (signing for 100
// nodes took 0.11 s instead of 0.04 s with a sync for each file, without any for
// directories); and every compile reads the YAML and the certificates, writes
// ledger and journal and waits for them, and renames what it staged.
//
// From 1,000 to 10,000 nodes the time of a full compile grows 6 times and its
// memory 6 times: what is not linear is the fixed part. Memory grows with the
// source and the plan, not with the tree, because payloads are projected when
// they are compared and again when they are signed.
//
// BenchmarkGrowth shows what a full compile follows: the bytes that it writes,
// and hardly the number of services by itself. 1,000 nodes, one round, measured
// on a machine that was busy with other work, so that only processor time and
// counts are given:
//
//	services  reach    pairs    MiB     cpu      allocs  peak MiB
//	     250     20   19,751   11.2   1.82s   1,507,172      11.6
//	   1,000     20   19,001   11.1   2.06s   1,552,077      10.9
//	   4,000     20   19,001   12.0   1.95s   1,826,027      17.6
//	  16,000     20   19,001   15.4   2.01s   2,885,547      59.2
//	   1,000      5    5,501    5.6   1.60s   1,082,095       9.7
//	   1,000     20   19,001   11.1   2.16s   1,551,839      11.5
//	   1,000     80   76,001   34.7   3.28s   3,460,358      16.2
//	   1,000    320  301,001  127.7   7.69s  11,101,936      38.4
//
// Limits: those of the facade for sources, and of package envelope for what is
// compiled.
package compiler
