package traffic

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/proxy"
)

// Client is one principal's way into the rete: the SOCKS5 port that its vertex
// opened for it. It may be used by any number of goroutines.
type Client struct {
	Proxy string              // host:port
	Rete  string              // its trust domain
	From  proxy.ContextDialer // the host on which the port is; nil: this machine
}

// Dial connects to a service.
func (c *Client) Dial(ctx context.Context, service string) (net.Conn, error) {
	dialer, err := proxy.SOCKS5("tcp", c.Proxy, nil, forward{c.from()})
	if err != nil {
		return nil, err
	}
	return dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", c.host(service)+":80")
}

func (c *Client) from() proxy.ContextDialer {
	if c.From != nil {
		return c.From
	}
	return &net.Dialer{}
}

// forward is a dialer as package proxy wants it.
type forward struct{ proxy.ContextDialer }

// Dial is never called: package proxy prefers the method with a context.
func (f forward) Dial(network, address string) (net.Conn, error) {
	return f.DialContext(context.Background(), network, address)
}

func (c *Client) host(service string) string { return service + "." + c.Rete + ".rete" }

func (c *Client) transport() *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			service, _, _ := strings.Cut(addr, ".")
			return c.Dial(ctx, service)
		},
	}
}

// Get fetches a page of a service, over a connection of its own, and returns
// its text, of a megabyte at most.
func (c *Client) Get(ctx context.Context, service, path string) (string, error) {
	response, err := c.open(ctx, service, path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return strings.TrimSpace(string(body)), nil
}

func (c *Client) open(ctx context.Context, service, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.host(service)+path, nil)
	if err != nil {
		return nil, err
	}
	return (&http.Client{Transport: c.transport()}).Do(request)
}

// IsDenied tells SOCKS5 reply 2, not allowed by the rete, from every other
// failure.
func IsDenied(err error) bool {
	return err != nil && strings.Contains(err.Error(), "not allowed by ruleset")
}
