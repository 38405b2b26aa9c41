package relay

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/internal/wire"
)

// SyncHandler serves GET and HEAD of /artifact/mgmt/<node> (CRD-1). It is safe
// for concurrent use.
func (r *Relay) SyncHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.reads.Add(1)
		limitBody(w, req)
		w.Header()[wire.WaitHeader] = waitCap
		r.reply(w, req, &r.syncs, r.sync(req))
	})
}

func (r *Relay) sync(req *http.Request) *answer {
	name, ok := artifactPath(req.URL)
	if !ok {
		return answerNotFound
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return methodNotAllowed("GET, HEAD")
	}
	f, err := parseFetch(name, req.URL.RawQuery)
	if err != nil {
		return fault(http.StatusBadRequest, wire.BadRequest, badQuery.Code()+" "+string(badQuery)+": "+err.Error())
	}
	now := f.judge(r.now.Load())
	if f.wait == 0 || now.status == http.StatusOK {
		return now
	}
	return r.hold(req.Context(), f, now)
}

// artifactPath finds the node's name, still escaped, in a path of the protocol.
func artifactPath(u *url.URL) (name string, ok bool) {
	name, ok = strings.CutPrefix(u.EscapedPath(), wire.ArtifactPath)
	return name, ok && !strings.Contains(name, "/")
}

// fetch is one well-formed question of a node.
type fetch struct {
	node string
	have uint64 // 0: none
	wait time.Duration
}

func parseFetch(escapedName, rawQuery string) (fetch, error) {
	node, err := url.PathUnescape(escapedName)
	if err != nil {
		return fetch{}, errors.New("the node's name is not escaped properly")
	}
	if err := envelope.SafeName(node); err != nil {
		return fetch{}, fmt.Errorf("node: %w", err)
	}
	if rawQuery == "" {
		return fetch{node: node}, nil
	}
	have, wait, ok := parameters(rawQuery)
	if !ok {
		return fetch{}, errors.New("the query is not escaped properly")
	}
	version, haveErr := number(have, "have", 1, envelope.MaxVersion)
	seconds, waitErr := number(wait, "wait", 0, 1<<32)
	if err := errors.Join(haveErr, waitErr); err != nil {
		return fetch{}, err
	}
	return fetch{node: node, have: version, wait: min(time.Duration(seconds)*time.Second, wire.MaxWait)}, nil
}

// parameter is what a query says of one name.
type parameter struct {
	times int    // that it was given
	value string // the first
}

func (p *parameter) add(value string) {
	if p.times++; p.times == 1 {
		p.value = value
	}
}

// parameters reads a query as url.ParseQuery does, and keeps what this protocol
// knows: of each fetch a map of everything would be the most that is thrown away.
func parameters(rawQuery string) (have, wait parameter, ok bool) {
	for pair := range strings.SplitSeq(rawQuery, "&") {
		escapedName, escapedValue, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(escapedName)
		value, valueErr := url.QueryUnescape(escapedValue)
		if nameErr != nil || valueErr != nil || strings.Contains(pair, ";") {
			return parameter{}, parameter{}, false
		}
		switch name {
		case "have":
			have.add(value)
		case "wait":
			wait.add(value)
		}
	}
	return have, wait, true
}

// number reads a parameter that may be absent and is otherwise one decimal
// number without sign or leading zeros.
func number(given parameter, name string, low, high uint64) (uint64, error) {
	if given.times == 0 {
		return 0, nil
	}
	if given.times == 1 {
		n, err := strconv.ParseUint(given.value, 10, 64)
		if err == nil && n >= low && n <= high && (given.value[0] != '0' || given.value == "0") {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%s: want one number from %d to %d", name, low, high)
}

// judge answers the question from one snapshot (CRD-5).
func (f fetch) judge(s *snapshot) *answer {
	if s.tree == nil {
		return answerUnpublished
	}
	set := s.tree.sets[f.node]
	switch {
	case set == nil:
		return answerUnknownNode
	case set.version == f.have:
		return answerNotModified
	default:
		return set.served
	}
}
