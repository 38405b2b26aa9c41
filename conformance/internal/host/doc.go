// Package host is the agent's side for one workload, without an agent: it gives a
// program under test what SUP-1 and SUP-2 promise, and asks it what SUP-11 lets
// one ask. The suites for programs and coordinators use it. What it gives can be
// made wrong in every part.
package host
