// Package relay is the coordinator: it stores the latest published tree and
// serves each node its slice of it. It holds no key, verifies no signature, reads
// only the routing core of an artifact (ENV-16) and never rewrites a byte of one.
//
// Who calls it: cmd/flor-coordinator, and any program that wants to be a
// coordinator among other things. Make a [Storage], give it to [New], and put the
// two handlers behind a listener each; who may reach which is not decided here.
//
//	store, err := relay.OpenFileStore(dir)
//	r, err := relay.New(ctx, store, relay.Options{Log: log})
//	sync := relay.NewServer(r.SyncHandler(), log)
//	listener, err := relay.Listen(ctx, "127.0.0.1:9000")
//	err = sync.Serve(listener) // and the same for r.PublishHandler()
//
// What it promises:
//
//   - A publish replaces the whole tree or changes nothing; it is durable, then
//     visible, then answered (CRD-4). Publishes are judged one after another by
//     two gates that are functions of values: [ParseTree], the structural one
//     (CRD-2), and [Judge], the monotonic one (CRD-3).
//   - A read is served from one immutable snapshot, whose answers were made when
//     the tree was accepted: no lock, no allocation for bytes that are served,
//     never a mix of two trees (CRD-5). A tree is in memory once, as the text that
//     was published.
//   - A request with wait is held while it would be told nothing new; a publish
//     wakes only those who watch a node that changed (CRD-6).
//   - What is unreadable on disk is set aside and a publish stays possible,
//     because a publish is the cure (CRD-7).
//
// Choices where the contract is silent:
//
//   - The limit on jumps (CRD-3) binds from the first record on. While no floor
//     at all is on record, on a new machine, after a reset or when floors and tree
//     are both lost, the first tree is taken as it comes. The rule as written,
//     with a floor of 0 for every node, would shut out for ever any rete of which
//     a node has passed version 1024, and a reset, the only way round the gate,
//     would lead nowhere. The price is that a garbage first publish sets the
//     floors; a reset clears them.
//   - A held answer ends when it becomes a set or otherwise another one than was
//     held back, for who watches a node that a publish changed. A watcher of an
//     absent node is not told that other nodes were published; it is answered
//     when its time is over.
//   - Whoever closes his half of the connection while he is held is answered at
//     once with what is true then: he may still read.
//   - While draining, a request that would be held gets 503 with
//     {"error":"draining"}; one that can be answered at once is answered.
//   - Members that are byte-identical to what is served are never a conflict,
//     also when a crash between the two writes of an earlier publish left a floor
//     above them on record.
//   - What uploads hold in memory together is bounded, because a body stays there
//     until it is judged. Whoever comes when nothing is left gets 503 with
//     {"error":"busy"} and Retry-After. Readers are not touched by that.
//   - A body that stands still gets 408 with {"error":"too_slow"}. Where a sync
//     after the rename fails, nobody knows what is on disk (SET-2): the publish
//     gets 500 with {"error":"outcome_unknown"} and [Relay.Failed] tells the
//     program to end as a crash and read the truth again.
//   - A tree without any artifact is malformed: it would unpublish the rete.
//   - An artifact over 4 MiB is malformed: no agent would take it.
//   - A state directory belongs to one process at a time; [OpenFileStore] holds a
//     lock in it, so that a reset beside a running coordinator is refused.
//
// Limits: 256 MiB a publish, 64 MiB and 256 artifacts a node, 60 s a held answer.
// Bodies are bounded while they are read and timed by progress: 64 KiB in 30 s,
// those that nobody asked for included. All uploads together hold 512 MiB. So a
// rete of 10,000 nodes may have sets of 26 KB; more gets 413 and is not published.
//
// A publish makes way for readers: while somebody reads, it works for 0.2 ms and
// rests for 0.6 ms, so that it takes up to four times as long as it does alone.
// [NewServer] and [Listen] bound what clients cost that go away without a word.
//
// # Measured
//
// On two processors that nothing else used meanwhile, medians of 5 or 7 runs that
// took turns, by examples/bench/coordinator (its README has all figures) and by
// the tests that are named. Only the ratios mean anything elsewhere.
//
//   - Answers to 64 connections beside nginx with the same bytes as a static file,
//     on 2026-11-30: 0.54 for a 304 and 0.46 for a set of 30 KiB; for a second of
//     processor time 0.48 and 0.40. What bounds it is net/http and the kernel: a
//     handler of three lines behind the same server takes 94 % of the processor
//     time of a 304 here, and 10 % of it are the times for headers and idle
//     connections. The collector is 15 to 28 % of a 304, because it runs for every
//     few megabytes while the heap is small.
//   - A publish of 10,000 nodes, 64 MB, takes 1.2 to 1.5 times as long as parsing
//     the same bytes and writing them with an fsync when nobody reads, or 0.6 to
//     0.8 of that with encoding/json as the parser. It has at most 2.5 times its
//     size in memory, the tree that it replaces included
//     (TestALargePublishNeedsLittleMemory in cmd/flor-coordinator).
//   - Readers' 99th percentile beside one publish after the other is 1.5 to 2.0 ms,
//     1.4 to 1.8 times the quiet one. Beside a program that only parses the same
//     tree, and has nothing to do with the relay, it is 2.3 to 4.6 times that,
//     because a reader waits for a processor and not for a lock. Without the rests
//     it was 3.6 to 5.
//   - By go test ./relay -bench ., which takes 10 s, on 2026-11-30, without a
//     network but for the third: 0.7 µs for a 304, 2 µs for a set of 128 KiB, 39 µs
//     for a 304 with its client, 0.20 s for a publish of 10,000 nodes (23 MB), of
//     which 0.08 s are parsing. Of 10,000 watchers in memory each costs 12.8 KiB,
//     and a publish that touches all of them has reached the last in 0.13 s.
//   - An idle watcher costs 22.4 KiB beyond the kernel's socket. Of 10,000, the last
//     of 100 that a publish touched was answered 5 ms after the publish was, and
//     the last of all others 0.7 s after SIGTERM (TestTenThousandWatches there). Of
//     4,000 whose link was taken down, none was left after 31 s, and 2.8 KiB of
//     each (TestWatchersBehindALinkThatIsTakenDown there).
package relay
