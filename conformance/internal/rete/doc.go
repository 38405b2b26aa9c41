// Package rete makes what the suites for agents and vertices give to the program
// under test: a trust domain with its authority and signers, sets good and bad,
// and an enrolled scope on disk as SPEC.md describes it (SET, SET-6). The suites
// call it; it goes through no package of the node, so that a program is judged by
// the contract and not by our reading of our own files.
//
// Everything is valid from now on, unless a change says otherwise, and made anew
// in each run.
package rete
