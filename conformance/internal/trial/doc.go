// Package trial is to a case of the conformance suites what testing.T is to a
// test: it gives one run of a case its patience, its directory, and the program
// under test, ends the run at the first thing that is not as it must be, and
// leaves nothing behind (CNF-2, CNF-3).
//
//	return trial.Run(ctx, arrivals, func(t *trial.T) {
//		p := t.Start(argv, env)
//		if code := p.Exit(); code != 78 {
//			t.Fatalf("exit %d: ...", code)
//		}
//	})
//
// A case waits for events, never for a time: [T.Await] looks until something is
// so, and fails in the end, after [Patience] or with the context; sooner where the
// program has never served in any case of the suite ([Arrivals]). What the program
// printed stands behind the words of a failure.
//
// A T belongs to the goroutine that runs the case; only there may it be failed.
package trial
