package schema

import (
	"errors"
	"time"

	"github.com/florete/flor/envelope"
)

// AgentVersion is the agent payload version written here, and the newest read.
const AgentVersion = "1.0"

// DefaultPollInterval is used where Sync has no PollInterval.
const DefaultPollInterval = 5 * time.Minute

// Agent is the payload of agent.json, the root of a set (agent 1.0).
type Agent struct {
	SchemaVersion string         `json:"schema_version"`
	Trust         envelope.Block `json:"trust"`
	Workloads     []Workload     `json:"workloads"`
	Inbounds      []Inbound      `json:"inbounds"`
	Sync          Sync           `json:"sync"`
}

// Workload is one program that the agent supervises.
type Workload struct {
	Name string   `json:"name"`
	Run  []string `json:"run"` // argv of exactly one element
}

// Inbound is the way into the vertex for one principal.
type Inbound struct {
	Principal string     `json:"principal"`
	Via       InboundVia `json:"via"`
}

// InboundVia is where the vertex listens for the principal.
type InboundVia struct {
	Kind string `json:"kind"` // socks5
	Addr string `json:"addr"` // IP literal with port
}

// Sync tells the agent where its sets come from.
type Sync struct {
	Principal    string `json:"principal"`   // as whom to dial
	Coordinator  string `json:"coordinator"` // SPIFFE ID
	PollInterval string `json:"poll_interval,omitempty"`
}

// Interval returns PollInterval as a duration, DefaultPollInterval if absent.
func (s Sync) Interval() time.Duration {
	d, err := time.ParseDuration(s.PollInterval)
	if err != nil {
		return DefaultPollInterval
	}
	return d
}

func ParseAgent(payload []byte) (*Agent, error) { return nil, errors.ErrUnsupported }
func (a *Agent) Validate() error                { return errors.ErrUnsupported }
