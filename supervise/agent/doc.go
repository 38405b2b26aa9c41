// Package agent is the flor agent: the daemon that makes one machine a node of
// one rete. It verifies the sets it is given, keeps the newest good one on disk,
// and supervises the programs that the set names. cmd/flor runs it ("flor agent
// run"); any program that wants a node inside it may do the same:
//
//	a, err := agent.New(agent.Options{Layout: layout, Scope: "my-rete", LogStderr: true})
//	if err == nil {
//		err = a.Run(ctx)
//	}
//	os.Exit(program.ExitCode(err))
//
// # What it does
//
// [Agent.Run] takes the scope's lock, ends what an agent that died left running,
// loads the active set or the last known good, starts its workloads, serves
// agent.sock (package supervise/control), and syncs: fetch, verify, check, stage,
// activate, confirm (AGT-3, AGT-4). The agent holds no key. It reaches the
// coordinator through the vertex that it runs itself, and reads no payload but
// its own (AGT-2); whether a vertex could serve a set, the vertex says (--check),
// and whether it needs a restart for it, too (SUP-11).
//
// # How it is built
//
// What decides is a function of values and stands apart, with a table beside it:
//
//	admit.go     is a verified set new, the same, older, forged twice   AGT-4.2, exported as Judge
//	plan.go      what to start, offer, restart, stop, keep              AGT-4.5, SUP-8
//	pace.go      when to fetch next, and for how long to watch          AGT-4.1
//	confirm.go   what keeps the mark from moving                        AGT-4.6
//	health.go    what is wrong, in words                                AGT-10
//	environ.go   the environment of a child                             SUP-1
//	status.go    the status document                                    AGT-9
//	report.go    what a sync's end means to status and log              AGT-7, OBS-4
//
// Around them: syncer.go (the one goroutine that fetches and admits; queue.go has
// what is asked of it), admitter.go (one set on its way), repair.go (the
// active set gone bad on disk, SET-5), attendant.go (looks at
// the workloads and moves the mark), backend.go (answers the socket), agent.go
// (puts the parts together and takes them down in order). They share the board:
// one value of facts behind a lock, and a signal when it changed.
//
// # What it promises
//
// A set that is refused changes nothing, and each refusal has a reason and a
// code. At any moment the disk holds a set that can run. A change of the agent's
// own payload drops no connection (AGT-5). Nothing that a coordinator says or
// does ends the agent. It ends by itself only when its state on disk is unknown
// (SET-2) or its supervisor or socket fails; then it is started again and reads
// the truth. Errors of [New] and [Agent.Run] carry the exit code that a service
// manager acts on: 78 where a person has to set something right, 69 where the log
// destination does not answer, else 1 (SUP-3, OBS-1).
//
// # Choices where the contract is silent
//
// A sync that somebody waits for asks the coordinator without "wait"; a watch
// follows it. After a fault the next fetch is not held either, and while the
// coordinator has nothing for this node watches begin at 1 s and grow to 55 s:
// a watch that is held tells nobody that the trouble is over. An answer to a
// watch within half a second that brings nothing counts as a fault of pace, so
// that a relay that drains is not asked in a circle. An answer of 404 or 503 is
// "unreachable" with a reason of its own, an answer that is none of the protocol
// "failed". A set handed in by a person says nothing of the coordinator and leaves
// that part of the health as it was. A set whose workload's executable is not
// installed is "unservable"; one that is missing at a start leaves that workload
// in backoff with the reason, and everything else serves. A workload that waits
// for the port or the identity that sync needs keeps the mark from moving; any
// other port it waits for is a line in health. Whoever waits for a sync is told
// "failed" after the 10 s of AGT-4.6 also where a workload is rejected at once: the
// others have their liveness window still before them, and the answer names the
// cause of each; and a restart within that time revives it. Status says so at once.
//
// A fetch is bounded in all, ten minutes beyond the time it is held, since a byte
// now and then never stands still. A set that is handed in overtakes a fetch that
// is under way, and the fetch is done again after it: no relay keeps the way in
// closed. A dry run leaves the pace of fetches as it is. A damaged active set that
// has no predecessor is mended by the same set, fetched or handed in. The active
// set is read and checked on disk at each sync, before each watch where one of its
// files was touched, and each member before each spawn and each offer; what fails is handled as at a start (SET-5), except
// that where no other set is whole, processes that run go on, and the agent stays
// to fetch it even with nothing left on disk. Workloads
// are asked for their readiness when something changes, when status is asked for,
// every 5 s while one of them waits for something, once a minute while somebody
// follows the status, and else every quarter of an hour: nobody would see what is
// found.
//
// While a workload is starting, a coordinator that cannot be reached is no fault:
// it is what carries the fetch that starts, or the coordinator itself. It is asked
// again until that is over, 3 s by default, and only then told. Health says
// meanwhile that the workload starts, until it serves that it is ready or has
// outlived its window: an empty list is for what is known to serve. It says the same
// of one that is stopped to be restarted, of a process that the active set has not
// reached yet, of a program of flor that runs and has never answered on its control
// channel, and of an agent that is ending; and what a process said of itself is told
// of that process alone. Nothing is asked
// through an inbound that a workload says it waits for: somebody else has the
// address (FL1413), and what answers there is not the way to the coordinator.
//
// A runtime root is one agent's, also where scopes of one name in two state
// directories were given one: it is held as long as the agent runs, and an agent
// of an earlier release is known by its socket being served (FL2020).
// Certificates are judged by the wall clock (Options.Clock), everything that
// waits goes by the monotonic one; a certificate of the future is told as a wrong
// clock. What other problems may come of stands first in health.
//
// A disk that takes nothing keeps no agent from starting and no workload from
// running: what could not be put in order, or a mark that could not be written,
// stands in health, and is tried again at each sync. One that is mounted read-only
// is no other case: what is on it is served, and the lock is held on a file opened
// for reading (FL2019). In status a workload of the active set that the supervisor
// has not been given yet is "starting".
//
// # Cost
//
// With three workloads that serve a control channel, on two shared cores of a
// 2026 server that did nothing else, on 30 November 2026 (BenchmarkIdleAgent in
// cmd/flor): idle, 4.4, 4.1, 6.3 and 11.4 ms of processor time in the four
// minutes after a start, so that not every minute stays below 5 ms, and 18 MiB
// resident. An idle agent wakes for two things: a watch is answered and followed
// by the next every 55 s, with some 40 system calls in all and 1.0 ms, and the
// runtime collects its garbage every 2 minutes, with 128 page faults and some 3
// ms (perf stat each 5 s, one workload); in between it was not on a processor at
// all. From the kill of a workload to its successor 116 ms in the median, of
// which 100 ms are the first delay of the policy (BenchmarkKillToRunning). From
// the kill of an agent, its vertex or both to the next contact with a
// coordinator 37 to 401 ms in 47 kills of a rete on one machine: the fetch
// follows at once when the vertex says that it is ready. 6 KiB are allocated by
// a sync that changes nothing (TestANoChangeSyncAllocatesLittle).
//
// # Limits
//
// One set document of 64 MiB, 256 workloads, by the limits of envelope. No ctrl
// plane is delivered yet. It knows nothing of systemd or launchd, and nothing of
// other retes on the machine (AGT-8).
//
// It implements AGT-1 to AGT-9, and the agent's half of SUP-1, SUP-2, SUP-5,
// SUP-8, SUP-9, SUP-11, OBS-1, OBS-4, OBS-5 and OBS-6.
package agent
