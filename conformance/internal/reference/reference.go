package reference

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"crypto/x509"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/supervise/agent"
)

// Answer is what a verifier says of one vector.
type Answer struct {
	Accepted bool
	Output   string // where it accepts: what it read
	Code     string // where it refuses
	Words    string // why, for people
}

// Verify answers the vector in a directory. An error means that the directory
// is no vector.
func Verify(dir fs.FS) (Answer, error) {
	for _, form := range []struct {
		file  string
		judge func(dir fs.FS, text []byte) (string, error)
	}{
		{"set.json", judgeSet}, {"text.json", judgeText}, {"artifact.json", judgeRoute}, {"payload.json", judgePayload},
		{"hostname.json", judgeHostname}, {"id.json", judgeID}, {"bundle.tar.base64", judgeBundle},
	} {
		text, err := fs.ReadFile(dir, form.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Answer{}, err
		}
		return answer(form.judge(dir, text))
	}
	return Answer{}, errors.New("the directory holds none of the files by which a vector is known")
}

// answer turns what was found into an answer: an error with a code is a
// refusal, any other a fault of the vector.
func answer(output string, err error) (Answer, error) {
	var coded interface {
		error
		Code() string
	}
	switch {
	case err == nil:
		return Answer{Accepted: true, Output: output}, nil
	case errors.As(err, &coded):
		return Answer{Code: coded.Code(), Words: coded.Error()}, nil
	}
	return Answer{}, err
}

// trust is trust.json.
type trust struct {
	TrustDomain string          `json:"trust_domain"`
	CA          string          `json:"ca"`
	Held        *envelope.Block `json:"held"`
	Retired     []string        `json:"retired"`
	Now         time.Time       `json:"now"`
}

// judgeSet verifies a set as an agent does (AGT-4.2).
func judgeSet(dir fs.FS, doc []byte) (string, error) {
	held, now, err := readTrust(dir)
	if err != nil {
		return "", err
	}
	node, err := line(dir, "node")
	if err != nil {
		return "", err
	}
	mark, err := readMark(dir)
	if err != nil {
		return "", err
	}
	members, err := envelope.ParseSet(doc)
	if err != nil {
		return "", err
	}
	set, err := schema.VerifySet(held, node, members, now)
	if err != nil {
		return "", err
	}
	_, err = agent.Judge(agent.Held{Mark: mark}, agent.Offered{Version: set.Version, Members: agent.Contents(set)})
	return "", err
}

func readMark(dir fs.FS) (uint64, error) {
	text, err := line(dir, "mark")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

func readTrust(dir fs.FS) (envelope.Held, time.Time, error) {
	var t trust
	text, err := fs.ReadFile(dir, "trust.json")
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return envelope.Held{}, time.Time{}, err
	}
	held, err := t.held()
	if err != nil {
		// Not a refusal of what the vector is about.
		return envelope.Held{}, time.Time{}, fmt.Errorf("trust.json: %v", err)
	}
	return held, t.Now, nil
}

func (t trust) held() (envelope.Held, error) {
	der, err := base64.StdEncoding.DecodeString(t.CA)
	if err != nil {
		return envelope.Held{}, err
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return envelope.Held{}, err
	}
	td, err := spiffeid.TrustDomainFromString(t.TrustDomain)
	if err != nil {
		return envelope.Held{}, err
	}
	held := envelope.Held{Anchor: envelope.Anchor{TrustDomain: td, CA: ca}, Retired: t.Retired}
	if t.Held != nil {
		held.Signers, err = held.Anchor.TrustSet(*t.Held)
	}
	return held, err
}

func judgeText(_ fs.FS, text []byte) (string, error) {
	form, err := envelope.Canonical(text)
	return string(form), err
}

func judgeRoute(_ fs.FS, text []byte) (string, error) {
	core, err := envelope.Probe(text)
	return fmt.Sprintf("%s %s %s %d %s", core.Plane, core.Node, core.Name, core.Version, core.SchemaVersion), err
}

func judgePayload(dir fs.FS, text []byte) (string, error) {
	family, err := line(dir, "family")
	if err != nil {
		return "", err
	}
	switch family {
	case "agent":
		_, err = schema.ParseAgent(text)
	case "vertex":
		_, err = schema.ParseVertex(text)
	default:
		err = fmt.Errorf("no payload family is named %q", family)
	}
	return "", err
}

func judgeHostname(_ fs.FS, text []byte) (string, error) {
	var asked struct {
		TrustDomain string `json:"trust_domain"`
		Hostname    string `json:"hostname"`
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		return "", err
	}
	td, err := spiffeid.TrustDomainFromString(asked.TrustDomain)
	if err != nil {
		return "", err
	}
	id, err := schema.ParseHostname(asked.Hostname, td)
	return id.String(), err
}

func judgeID(_ fs.FS, text []byte) (string, error) {
	var named struct {
		ID string `json:"spiffe_id"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return "", err
	}
	id, err := spiffeid.FromString(named.ID)
	if err != nil {
		return "", err
	}
	return schema.Hostname(id)
}

func judgeBundle(dir fs.FS, encoded []byte) (string, error) {
	archive, err := base64.StdEncoding.DecodeString(string(encoded)) // which ignores line feeds
	if err != nil {
		return "", err
	}
	text, err := line(dir, "now")
	if err != nil {
		return "", err
	}
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", err
	}
	_, err = bundle.Read(bytes.NewReader(archive), now)
	return "", err
}

// line reads a file of one line.
func line(dir fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(dir, name)
	return strings.TrimSuffix(string(text), "\n"), err
}
