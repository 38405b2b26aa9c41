// Package relaytest checks an implementation of relay.Storage: whoever writes
// one, over a replicated store for example, calls Storage from a test of his own.
package relaytest
