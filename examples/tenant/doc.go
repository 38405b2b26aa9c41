// Tenant is a complete supervised program, in main.go: it serves the files of
// its state directory over HTTP, on the address that its artifact names, until
// it is told to stop.
//
// Everything it needs from the agent comes with the context: the payload of
// its artifact (a wrong one is exit 78, and is not tried again), its state
// directory, a logger, and the end of the context at SIGTERM. By hand, in this
// directory:
//
//	FLORWL_NAME=files FLORWL_STATE_DIR=$PWD FLORWL_MGMT_ARTIFACT=$PWD/files.json go run .
//
// The signature in files.json is none. Only an agent looks at it, before it
// starts a program; how a workload gets onto a node says package program.
package main
