// Package supervise keeps child processes running: it starts them, restarts
// them by a policy, stops them with a grace, and finds what an earlier
// supervisor left behind. It knows nothing of artifacts, retes or planes; the
// flor agent is one caller, any other program may be the next (SUP-10).
//
// A [Supervisor] is given a list of [Spec] with [Supervisor.Apply], as often as
// it changes, and runs it until the context of [Supervisor.Run] ends.
// [Supervisor.Status] and [Supervisor.Watch] tell how each child is doing.
//
// # What a child gets
//
// Exactly the environment of its Spec (SUP-1); the null device as fd 0, its
// log sink as fd 1 and fd 2, and no other descriptor, also none that the
// supervisor itself inherited (before each spawn all descriptors of this
// process above 2 are marked close-on-exec, as Go marks those it opens); a
// process group of its own (SUP-2).
//
// # How it ends and comes back
//
// SIGTERM asks the main process to drain; after the grace SIGKILL goes to the
// whole group (SUP-4). Exit codes are judged by [Classify] (SUP-3), and what
// comes next is decided by a pure state machine over events and times, with the
// numbers of [Policy] (SUP-6); the scripts in testdata show it at work. A child
// is started again only after the old process is reaped and its group has
// ended. A crash-looping child that is tried again is starting and then up
// like any other; its next crash makes it crash-looping at once. A stop that is
// overtaken by a new wish to run is hurried, not undone. At the end all stop in
// reverse order, each after the one before has ended, so what the first ones
// carry can finish (SUP-8); those that leave the list earlier do so
// independently of each other.
//
// # What is guaranteed about descendants
//
// When the main process ends, whatever it left is ended before its successor
// is spawned, and its end is waited for, one second at most (SUP-5):
//
//   - always, every process that is still in its group, while the group's
//     number cannot belong to anybody else yet (on darwin this holds as long as
//     nothing else reaps the child);
//   - with [Options].Subreaper, on Linux, every orphan of this process whose
//     environment holds the [Spec].Marker of the child, and all that descends
//     from it: double forks and sessions of their own do not help. An orphan
//     that carries nobody's marker, because it cleared its environment or may
//     not be looked into, is told of in the log and by [Supervisor.Strays], and
//     is not touched;
//   - with [Options].Cgroup, on Linux with a delegated cgroup v2, everything.
//
// Each falls back to the one before, and the log says so. What
// [Supervisor.RunBeside] runs is under the same guarantees. Nothing is ended
// that is another child's or that runs beside; signals go
// through pidfds, so none reaches a process that got a recycled pid. Orphans
// that end by themselves are reaped, by pid, a second or two later; an exit that
// somebody here waits for is never taken. On darwin there is no subreaper and no
// cgroup: what leaves its process group is not found.
//
// # The supervisor's own death
//
// With [Options].RunDir, each child, and whatever else is run here, is recorded
// in children.json with name, pid, start time and boot id (SUP-2), and the next
// supervisor ends those that still run before it starts anything (SUP-9,
// [EndSurvivors]). On Linux
// they are held by pidfd before their start time is compared; on darwin the
// start time is compared right before each signal. Before its first spawn the
// marker and the cgroup of a child are recorded as well. By these the successor
// finds a child that was spawned in the instant before the supervisor was
// killed, and the rest of a group whose leader has ended: everything in the
// cgroup, and every process with the marker whose parent is init or an ancestor
// of the successor, as those of orphans are, so that what a person runs by hand
// in such an environment is left alone. Without a marker and a cgroup, and on
// darwin, these two are not found: nothing proves whose they are.
//
// # Cost
//
// From the SIGKILL of a child to the first line of its successor, at the first
// try: 104 to 112 ms in the median of 21, in five runs, of which 100 ms are
// [Policy].MinDelay. Killed in turn with it, runit took 3.7 to 4.0 ms and s6
// 1,006 ms, since s6 waits a second: 26 to 31 times the one, a ninth of the
// other. Three services cost 3.4 MiB in one process; with runit 0.51 MiB and with
// s6 0.84 MiB, in four each (Pss, one run): 7 and 4 times as much. Measured by
//
//	go test ./supervise -run - -bench KillToRunningBeside -benchtime 21x
//	go test ./supervise -run - -bench MemoryBeside -benchtime 1x
//
// on two cores that did nothing else. The end of a child costs one reading of the
// process table more with a subreaper, some milliseconds, and half a second once
// for each stray that shows nothing of itself.
//
// # Time
//
// Everything is measured by the monotonic clock; wall-clock times are only
// shown.
package supervise
