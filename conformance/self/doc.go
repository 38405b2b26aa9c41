// Package self checks the conformance suites themselves, and the programs of this
// module by them. It is for whoever works on this module, and needs a checkout of
// it: command flor-conformance self calls it, and so does the module's CI. Who
// checks a program of their own wants package conformance.
//
// [Subjects] are the module's own programs. A [Workshop] builds them from the
// checkout it stands in and runs each by its suite ([Workshop.Check], CNF-5), or
// makes them wrong on purpose, in one thing each, and runs the suites against that
// ([Workshop.KillMutants], CNF-4): each case must fail a program that is wrong, or it
// shows nothing.
//
//	shop, err := self.OpenWorkshop(ctx, "")
//	for _, subject := range self.Subjects() {
//		report, err := shop.KillMutants(ctx, subject, self.MutantOptions{Parallel: 4})
//	}
//
// A case against a mutant is often to wait in vain, so it has several times what it
// took with no mutant on, and not the time that the suite would give it. What comes
// out otherwise than it must, on a machine that is busy with others, is run once more,
// alone; that second look counts, and is told.
package self
