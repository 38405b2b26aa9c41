// Package node is the machine that the suite for agents gives to the agent under
// test: an enrolled scope on disk, a lib directory of workloads that the suite
// writes itself, a log daemon, the vertex's SOCKS5 inbound and behind it a
// coordinator that says what a case wants. What the agent does is observed
// through files, through its workloads, and on its control socket (CNF-2).
//
// Workloads are shell scripts. Each reports what happens to it into a FIFO that
// the suite reads, and does what the case has written for it; when the machine's
// directory goes, they end by themselves, so that an agent that was killed leaves
// nobody behind for long.
package node
