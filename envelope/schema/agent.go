package schema

import (
	"time"

	"github.com/florete/flor/envelope"
)

// AgentVersion is the version of the agent payload that is written here, and
// the newest that is read (ENV-15).
const AgentVersion = "1.0"

// What a poll interval may be.
const (
	DefaultPollInterval = 5 * time.Minute // where Sync has none
	MinPollInterval     = time.Second
	MaxPollInterval     = 24 * time.Hour
)

// Agent is the payload of agent.json, the root of a set (agent 1.0). Its
// fields are in the order in which they are written (ENV-9).
type Agent struct {
	SchemaVersion string         `json:"schema_version"`
	Trust         envelope.Block `json:"trust"`
	Workloads     []Workload     `json:"workloads"` // the inventory
	Inbounds      []Inbound      `json:"inbounds"`
	Sync          Sync           `json:"sync"`
}

// Workload is one program that the agent supervises.
type Workload struct {
	Name string   `json:"name"` // of its artifact
	Run  []string `json:"run"`  // argv of exactly one element, a name by ENV-4
}

// Inbound is the way into the vertex for one local principal.
type Inbound struct {
	Principal string     `json:"principal"` // SPIFFE ID of a user, service or node
	Via       InboundVia `json:"via"`
}

// InboundVia is where the vertex listens for the principal.
type InboundVia struct {
	Kind string `json:"kind"` // socks5
	Addr string `json:"addr"` // IP literal with port
}

// Sync tells the agent where its sets come from.
type Sync struct {
	Principal    string `json:"principal"`               // as whom to dial; has exactly one inbound
	Coordinator  string `json:"coordinator"`             // SPIFFE ID of a service
	PollInterval string `json:"poll_interval,omitempty"` // Go duration, 1s to 24h
}

// Interval returns the poll interval; DefaultPollInterval if there is none, or
// one that Validate would fault.
func (s Sync) Interval() time.Duration {
	if d, ok := s.interval(); ok {
		return d
	}
	return DefaultPollInterval
}

func (s Sync) interval() (time.Duration, bool) {
	d, err := time.ParseDuration(s.PollInterval)
	return d, err == nil && MinPollInterval <= d && d <= MaxPollInterval
}

// ParseAgent reads an agent payload: closed, gated and valid. The error is an
// [*envelope.Refusal] where the version is the matter (ENV-14), else a
// [*PayloadError].
func ParseAgent(payload []byte) (*Agent, error) {
	a := new(Agent)
	if err := decode(payload, "agent", AgentVersion, a); err != nil {
		return nil, err
	}
	var c checker
	c.listed("workloads", a.Workloads != nil)
	c.listed("inbounds", a.Inbounds != nil)
	a.check(&c)
	if err := c.result("agent"); err != nil {
		return nil, err
	}
	return a, nil
}

// Validate reports every fault of the payload in one [*PayloadError]. Whether
// the trust block is valid depends on the scope's CA, which
// [envelope.Anchor.TrustSet] asks; here its entries must be complete. A nil one is
// no payload.
func (a *Agent) Validate() error {
	var c checker
	if a == nil {
		c.fault(Malformed, "payload", "there is none: it is nil")
		return c.result("agent")
	}
	a.check(&c)
	return c.result("agent")
}

func (a *Agent) check(c *checker) {
	c.version("agent", a.SchemaVersion, AgentVersion)
	c.trust(a.Trust)
	for i, w := range a.Workloads {
		c.workload(element("workloads", i), w)
	}
	for i, in := range a.Inbounds {
		c.inbound(element("inbounds", i), in)
	}
	a.checkSync(c)
}

func (c *checker) trust(b envelope.Block) {
	if len(b.Mgmt) == 0 {
		c.fault(Missing, "trust.authorized_mgmt_signers", "must list at least one signer")
	}
	c.signers("trust.authorized_mgmt_signers", b.Mgmt, KindManagementPlane)
	c.signers("trust.authorized_ctrl_signers", b.Ctrl, KindControlPlane)
}

func (c *checker) signers(path string, entries []envelope.Entry, kind Kind) {
	for i, e := range entries {
		at := element(path, i)
		c.id(at+".spiffe_id", e.SPIFFEID, kind)
		c.present(at+".pubkey", e.Pubkey)
		c.present(at+".cert", e.Cert)
	}
}

func (c *checker) workload(path string, w Workload) {
	c.workloadName(path+".name", w.Name)
	if len(w.Run) != 1 {
		c.fault(BadRun, path+".run", "must be the program alone, without arguments: one element, not %d", len(w.Run))
		return
	}
	if err := envelope.SafeName(w.Run[0]); err != nil {
		c.fault(BadRun, path+".run[0]", "must be the name of a program: %v", err)
	}
}

func (c *checker) workloadName(path, name string) {
	if err := envelope.SafeName(name); err != nil {
		c.fault(BadName, path, "%v", err)
		return
	}
	if envelope.SameName(name, envelope.AgentName) || envelope.SameName(name, envelope.ReservedName) {
		c.fault(BadName, path, "%q is reserved", name)
	}
	c.unique(path, "workload", envelope.FoldName(name))
}

func (c *checker) inbound(path string, in Inbound) {
	c.id(path+".principal", in.Principal, initiators...)
	c.word(path+".via.kind", in.Via.Kind, SOCKS5)
	c.listen(path+".via.addr", in.Via.Addr)
}

func (a *Agent) checkSync(c *checker) {
	c.id("sync.coordinator", a.Sync.Coordinator, KindService)
	if a.Sync.PollInterval != "" {
		if _, ok := a.Sync.interval(); !ok {
			c.fault(BadInterval, "sync.poll_interval", "%.80q is not a duration from %v to %v", a.Sync.PollInterval, MinPollInterval, MaxPollInterval)
		}
	}
	if _, ok := c.id("sync.principal", a.Sync.Principal, initiators...); !ok {
		return
	}
	inbounds := 0
	for _, in := range a.Inbounds {
		if in.Principal == a.Sync.Principal {
			inbounds++
		}
	}
	if inbounds != 1 {
		c.fault(SyncInbound, "sync.principal", "%s must have exactly one inbound, and has %d", a.Sync.Principal, inbounds)
	}
}

// listed faults a list that was not written, which Go does not tell from one
// that is empty.
func (c *checker) listed(path string, written bool) {
	if !written {
		c.fault(Missing, path, "is required, empty or not")
	}
}

// ids returns every SPIFFE ID of the payload.
func (a *Agent) ids() []string {
	ids := []string{a.Sync.Principal, a.Sync.Coordinator}
	for _, in := range a.Inbounds {
		ids = append(ids, in.Principal)
	}
	for _, e := range a.Trust.Mgmt {
		ids = append(ids, e.SPIFFEID)
	}
	for _, e := range a.Trust.Ctrl {
		ids = append(ids, e.SPIFFEID)
	}
	return ids
}
