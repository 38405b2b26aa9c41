package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/supervise/control"
)

// route is how the coordinator is reached: through the inbound of the sync
// principal, by the coordinator's hostname (AGT-2).
type route struct{ socks5, url string }

func (g *generation) route() (route, error) {
	id, err := spiffeid.FromString(g.agent.Sync.Coordinator)
	if err != nil {
		return route{}, fmt.Errorf("sync.coordinator: %w", err)
	}
	host, err := schema.Hostname(id)
	if err != nil {
		return route{}, fmt.Errorf("sync.coordinator: %w", err)
	}
	return route{socks5: g.inbound(), url: "http://" + host}, nil
}

// fetchWithin is how long a fetch may take beyond the time it is held: a relay
// that lets a byte through now and then would otherwise hold the node for ever.
// The largest set passes in it at 110 KiB/s.
const fetchWithin = 10 * time.Minute

// limits are how long a fetch may take: standing still (0: the client's own
// limit), and in all.
type limits struct{ stall, within time.Duration }

// fetcher asks the coordinator for sets. It keeps one client as long as the
// route stays the same. It is used by one goroutine at a time.
type fetcher struct {
	limits limits
	route  route
	client *client.Client
}

// fetch asks for the set of a generation's node; see AGT-4.1 for have and wait.
func (f *fetcher) fetch(ctx context.Context, g *generation, have uint64, wait time.Duration) (client.Reply, error) {
	if err := f.follow(g); err != nil {
		return client.Reply{}, err
	}
	slow := refuse(TooSlow, "the answer was not here whole within %v", f.limits.within)
	ctx, cancel := context.WithTimeoutCause(ctx, wait+f.limits.within, slow)
	defer cancel()
	return f.client.Fetch(ctx, g.node, have, wait)
}

func (f *fetcher) follow(g *generation) error {
	route, err := g.route()
	if err != nil || f.client != nil && route == f.route {
		return err
	}
	next, err := client.New(client.Options{BaseURL: route.url, SOCKS5: route.socks5, Stall: f.limits.stall})
	if err != nil {
		return err
	}
	f.close()
	f.route, f.client = route, next
	return nil
}

// close lets idle connections go, as before the program that carries them
// restarts.
func (f *fetcher) close() {
	if f.client != nil {
		f.client.Close()
		f.client = nil
	}
}

// fetchFault classes an error of a fetch: a set that is too large is refused,
// an answer that is none of the contract is a failure, all else is a matter of
// reaching the coordinator. word is the reason.
func fetchFault(err error) (result control.Result, word string) {
	var (
		tooLarge   *client.TooLarge
		unexpected *client.Unexpected
		bad        *client.BadRequest
		proxy      *client.ProxyRefused
		away       *client.Unavailable
		slow       *Refusal
	)
	switch {
	case errors.As(err, &slow):
		return control.Unreachable, string(slow.Reason)
	case errors.As(err, &tooLarge):
		return control.Refused, "too-large"
	case errors.As(err, &unexpected):
		return control.Failed, "unexpected-answer"
	case errors.As(err, &bad):
		return control.Failed, "bad-request"
	case errors.As(err, &proxy):
		return control.Unreachable, "proxy-" + proxy.Reply.Reason()
	case errors.As(err, &away):
		return control.Unreachable, "unavailable"
	}
	return control.Unreachable, "unreachable"
}

// answered tells whether an error of a fetch came from a coordinator at all.
func answered(err error) bool {
	result, word := fetchFault(err)
	return result != control.Unreachable || word == "unavailable"
}
