// Package programsuite holds the cases of the suite for supervised programs
// (CNF-2). Package conformance offers them to the world.
//
// A case starts the program on a host of its own, makes one thing wrong or asks
// one thing, and looks at one thing from outside. The words of a failure tell the
// program's author what to change. The first part of a case's name is the feature
// that a program must have built for it.
package programsuite
