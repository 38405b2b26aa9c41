// Package control is the agent's control socket: the documents that travel
// over it, its server and its client (AGT-9).
//
// The agent serves a [Backend] with [NewServer]; "flor agent status" and other
// tools read it with [NewClient]. It is HTTP/1.1 with JSON over a unix stream
// socket, so that curl --unix-socket is a diagnostic. Keys are snake_case,
// times RFC 3339, durations whole milliseconds in keys that end in _ms; within
// v1 documents only ever gain members. Every error is
// {"error":{"code":"FLnnnn","message":"…"}}.
package control
