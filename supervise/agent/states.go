package agent

// States of a workload, as SUP-7 spells them.
const (
	stateStarting     = "starting"
	stateUp           = "up"
	stateBackoff      = "backoff"
	stateStopping     = "stopping"
	stateStopped      = "stopped"
	stateRejected     = "rejected"
	stateCrashLooping = "crash-looping"
	stateUnverified   = "unverified"
)
