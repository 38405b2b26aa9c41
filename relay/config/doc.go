// Package config is the payload of the coordinator's own artifact, version 1.0
// (CRD-1):
//
//	{"schema_version":"1.0","listen":{"sync":"127.0.0.1:9000","publish":"127.0.0.1:9001"}}
//
// The compiler writes it with json.Marshal and the coordinator reads it with
// Parse; nobody else parses it. It is closed: an unknown member, a duplicate or
// a name in another case is refused. Its schema_version has a ladder of its own,
// and a newer one is refused in words that say "upgrade" (ENV-14, ENV-15).
//
// The package is pure: bytes in, values and errors out.
package config
