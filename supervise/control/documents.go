package control

import "time"

// StatusDoc answers GET /v1/status.
type StatusDoc struct {
	Scope       string `json:"scope"`
	Node        string `json:"node"`
	TrustDomain string `json:"trust_domain"`
	Agent       Agent  `json:"agent"`
	Set         Set    `json:"set"`
	// Workloads are in inventory order.
	Workloads []Workload `json:"workloads"`
	// LastSync is nil until a first sync has ended.
	LastSync *SyncResult `json:"last_sync,omitempty"`
	// NextSync is when the next fetch is due; zero while a watch is open or
	// a sync runs.
	NextSync time.Time `json:"next_sync,omitzero"`
	// LastContact is when a coordinator last answered, LastChange when a set
	// was last admitted (AGT-7).
	LastContact time.Time `json:"last_contact,omitzero"`
	LastChange  time.Time `json:"last_change,omitzero"`
	// OlderOffers counts the times that a relay offered an older set (AGT-7).
	OlderOffers uint64        `json:"older_offers"`
	Identity    []Certificate `json:"identity"`
	// Health lists plain problems, what is worst first; empty when all is well.
	Health []string `json:"health"`
}

// Agent is the agent process itself.
type Agent struct {
	PID      int       `json:"pid"`
	Since    time.Time `json:"since"`
	UptimeMS int64     `json:"uptime_ms"`
	Build    string    `json:"build"`
}

// Set tells which sets the node holds.
type Set struct {
	Active uint64 `json:"active"`
	Mark   uint64 `json:"mark"`
	// Pending is a version that is active and not yet confirmed, else 0.
	Pending  uint64   `json:"pending,omitempty"`
	Retained []uint64 `json:"retained"`
	// Recovered tells that the active set is an earlier one, because the
	// newest failed its check (SET-5).
	Recovered bool `json:"recovered,omitempty"`
	// TrustStateLost tells that the agent refuses to sync (SET-6).
	TrustStateLost bool `json:"trust_state_lost,omitempty"`
}

// Workload is how one workload is doing (SUP-7).
type Workload struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Since is when the state was entered; of a workload that is up, when its
	// process was started.
	Since time.Time `json:"since"`
	PID   int       `json:"pid,omitempty"`
	// Set is the version of the set it runs on, Via how it got it: "spawned"
	// or "swapped".
	Set      uint64 `json:"set,omitempty"`
	Via      string `json:"via,omitempty"`
	Restarts int    `json:"restarts"`
	LastExit *Exit  `json:"last_exit,omitempty"`
	// NextTry is when a spawn is due; zero when none is.
	NextTry time.Time `json:"next_try,omitzero"`
	// Reason says in words why it is in this state, if there is more to say.
	Reason string `json:"reason,omitempty"`
	// Ready is what the workload tells on its control channel, nil when it
	// serves none.
	Ready *Readiness `json:"ready,omitempty"`
}

// Exit is how a process ended: by Code, or by Signal with Code -1.
type Exit struct {
	Code   int       `json:"code"`
	Signal string    `json:"signal,omitempty"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Readiness is a workload's own word on what it serves (SUP-11).
type Readiness struct {
	Ready     bool     `json:"ready"`
	Listening []string `json:"listening"`
	Waiting   []string `json:"waiting"`
}

// Certificate is one certificate of the identity store.
type Certificate struct {
	ID        string    `json:"id"`
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
}

// Result is how a sync ended. Refused is a set that was understood and turned
// down; Failed is one that was tried and broke.
type Result string

// The results of a sync.
const (
	Applied     Result = "applied"
	Unchanged   Result = "unchanged"
	Refused     Result = "refused"
	Failed      Result = "failed"
	Unreachable Result = "unreachable"
)

// SyncResult answers POST /v1/sync and is the last sync in a status.
type SyncResult struct {
	Result Result `json:"result"`
	// Reason is a kebab-case word, Code its FL code, Message the words for a
	// person; all empty where Result says everything.
	Reason  string `json:"reason,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Trigger is what asked for it: "start", "poll", "watch", "request",
	// "file".
	Trigger string `json:"trigger"`
	// Held is the active version before it, Offered the version on offer,
	// 0 when none was seen.
	Held       uint64    `json:"held"`
	Offered    uint64    `json:"offered,omitempty"`
	When       time.Time `json:"when"`
	DurationMS int64     `json:"duration_ms"`
	DryRun     bool      `json:"dry_run,omitempty"`
	// Workloads is what a dry run would do to each changed workload, and what
	// a real one did (AGT-6).
	Workloads []Change `json:"workloads,omitempty"`
}

// Change is what a set means to one workload.
type Change struct {
	Name string `json:"name"`
	// Action is "start", "swap", "restart" or "stop".
	Action string `json:"action"`
	// Reason says why, where there is something to say.
	Reason string `json:"reason,omitempty"`
}

// Inbound is where a principal connects into the vertex.
type Inbound struct {
	Kind string `json:"kind"`
	Addr string `json:"addr"`
}
