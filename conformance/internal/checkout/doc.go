// Package checkout builds programs of this module from the source that it
// stands in, so that the conformance suites can be run against them (CNF-4,
// CNF-5). flor-conformance self calls it; it needs the go command and a checkout
// of the module, and says so where either is missing.
package checkout
