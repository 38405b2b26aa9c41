// Package supervise keeps child processes running: it starts them, restarts
// them by a policy, stops them with a grace, and finds what an earlier
// supervisor left behind. It knows nothing of artifacts, retes or planes; the
// flor agent is one caller, any other program may be the next (SUP-10).
package supervise
