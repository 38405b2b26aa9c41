package supervise

// State is where a child stands (SUP-7).
type State string

// The states of a child. Rejected and Unverified are refusals, CrashLooping
// is a failure.
const (
	Starting     State = "starting"
	Up           State = "up"
	Backoff      State = "backoff"
	Stopping     State = "stopping"
	Stopped      State = "stopped"
	Rejected     State = "rejected"
	CrashLooping State = "crash-looping"
	Unverified   State = "unverified"
)
