// Package logdaemon is the log daemon of the conformance suites (OBS-1): it takes
// datagrams on a unix socket and keeps them, or takes none, is restarted, or goes.
//
//	d := logdaemon.Listen(t, path)
//	// … the program under test logs …
//	for _, record := range d.Records() {
//
// [Daemon.Records] has everything that was sent before it was called: a case can look
// at what was logged, and at what was not, without waiting for a time.
package logdaemon
