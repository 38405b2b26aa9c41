package rete

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// Scope is a scope root on disk.
type Scope string

// Path is the path of a file below the scope root, given with slashes.
func (s Scope) Path(name string) string { return filepath.Join(string(s), filepath.FromSlash(name)) }

// Write writes a file with mode 0600 and makes its directories with 0700.
func (s Scope) Write(name string, data []byte) error {
	path := s.Path(name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
}

// Read reads a file, empty where it is not there.
func (s Scope) Read(name string) string {
	text, err := os.ReadFile(s.Path(name))
	if err != nil {
		return ""
	}
	return string(text)
}

// Anchor writes identity/ with a trust anchor and principals.
func (r *Rete) Anchor(s Scope, principals ...*Identity) error {
	err := errors.Join(
		s.Write("identity/rete.json", []byte(fmt.Sprintf(`{"trust_domain":%q}`+"\n", r.Domain))),
		s.Write("identity/ca.crt", block("CERTIFICATE", r.CA.CA.Raw)),
		os.MkdirAll(s.Path("identity/certs"), 0o700))
	for _, p := range principals {
		err = errors.Join(err, s.Principal(p))
	}
	return err
}

// Principal writes certificate and key of a principal.
func (s Scope) Principal(p *Identity) error {
	key, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return err
	}
	stem := "identity/certs/" + path.Base(p.ID.Path())
	return errors.Join(
		s.Write(stem+".crt", block("CERTIFICATE", p.Cert.Raw)),
		s.Write(stem+".key", block("PRIVATE KEY", key)))
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Record is what agent/state.json says of one set (SET-6).
type Record struct {
	Version uint64            `json:"version"`
	Members map[string]string `json:"members"`
	Trust   json.RawMessage   `json:"trust"`
}

// State is agent/state.json (SET-6).
type State struct {
	SchemaVersion string   `json:"schema_version"`
	Node          string   `json:"node"`
	Mark          uint64   `json:"mark"`
	Pending       uint64   `json:"pending,omitempty"`
	Sets          []Record `json:"sets"`
	Retired       []string `json:"retired"`
}

// Enrol writes a scope whose node has admitted these sets one after the other;
// the last one is active, and its version is the mark.
func (r *Rete) Enrol(s Scope, sets ...[][]byte) error {
	st := State{SchemaVersion: "1.0", Node: "alpha", Sets: []Record{}, Retired: []string{}}
	err := errors.Join(
		r.Anchor(s, r.Issue("/node/alpha")),
		os.MkdirAll(s.Path("artifacts/ctrl"), 0o700), os.MkdirAll(s.Path("workloads"), 0o700))
	for _, texts := range sets {
		record, failed := s.store(texts)
		err = errors.Join(err, failed)
		st.Sets, st.Mark = append(st.Sets, record), record.Version
	}
	return errors.Join(err, s.WriteState(st),
		s.Write("artifacts/mgmt/current", []byte(fmt.Sprintf("v%d\n", st.Mark))))
}

// Record writes a further set as an agent does that ends before it replaces
// current: its record is there, pending, with the keys that it retires (SET-6).
func (s Scope) Record(texts [][]byte, retires ...*Identity) error {
	st, err := s.State()
	if err != nil {
		return err
	}
	record, err := s.store(texts)
	if err != nil {
		return err
	}
	st.Sets, st.Pending = append(st.Sets, record), record.Version
	for _, signer := range retires {
		st.Retired = append(st.Retired, signer.Entry().Pubkey)
	}
	return s.WriteState(st)
}

// WriteState writes agent/state.json.
func (s Scope) WriteState(st State) error {
	text, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	return s.Write("agent/state.json", append(text, '\n'))
}

// State reads agent/state.json.
func (s Scope) State() (State, error) {
	var st State
	err := json.Unmarshal([]byte(s.Read("agent/state.json")), &st)
	return st, err
}

// store writes one set and returns its record. The root comes first.
func (s Scope) store(texts [][]byte) (Record, error) {
	r := Record{Members: map[string]string{}}
	for i, text := range texts {
		a, err := envelope.Parse(text)
		if err != nil {
			return r, err
		}
		sum := sha256.Sum256(a.Canonical())
		r.Version, r.Members[a.Name] = a.Version, hex.EncodeToString(sum[:])
		if i == 0 {
			if r.Trust, err = trustOf(a); err != nil {
				return r, err
			}
		}
		if err := s.Write(fmt.Sprintf("artifacts/mgmt/sets/v%d/%s.json", a.Version, a.Name), text); err != nil {
			return r, err
		}
	}
	return r, nil
}

func trustOf(root envelope.Artifact) (json.RawMessage, error) {
	agent, err := schema.ParseAgent(root.Payload())
	if err != nil {
		return nil, err
	}
	return json.Marshal(agent.Trust)
}
