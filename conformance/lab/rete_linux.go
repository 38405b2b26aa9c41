package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/conformance/lab/netns"
	"github.com/florete/flor/conformance/lab/traffic"
	"github.com/florete/flor/conformance/lab/udplink"
	"github.com/florete/flor/supervise/control"
)

// Options say how a rete is raised.
type Options struct {
	Programs Programs
	Dir      string // exists, is empty, and has a short name: sockets lie below it
	// Path, if any, is the way to every vertex, through a host in the middle.
	Path *udplink.Path
	// Prepare is called for each node before anything runs on it; nil: nothing is.
	Prepare func(*Node) error
}

// Network is a rete of five nodes on hosts of their own. Two switches with a
// cable between them carry it: the management node, alpha and the laptop are on
// one, beta and the desk on the other.
//
// Its methods are for one goroutine, except where they say otherwise.
type Network struct {
	Operator *Operator
	Sources  Sources // as last written
	Nodes    map[string]*Node
	Trunk    *netns.Cable // between the two switches
	Shop     *traffic.Shop

	hosts       map[string]*netns.Host
	links       map[string]*udplink.Link // by node
	left, right *netns.Switch
	stock       *traffic.Stock
}

// addresses of the hosts; that in the middle only with a path.
var addresses = map[string]netip.Prefix{
	Management: netip.MustParsePrefix("10.77.0.1/24"),
	Alpha:      netip.MustParsePrefix("10.77.0.2/24"),
	Beta:       netip.MustParsePrefix("10.77.0.3/24"),
	Laptop:     netip.MustParsePrefix("10.77.0.4/24"),
	Desk:       netip.MustParsePrefix("10.77.0.5/24"),
	middle:     netip.MustParsePrefix("10.77.0.254/24"),
}

// middle is the host on which the paths are.
const middle = "middle"

// Raise makes hosts, programs' directories, services and repository, enrols all
// nodes, and starts nothing of Florete. Close ends it, whatever Raise returned.
func Raise(ctx context.Context, o Options) (*Network, error) {
	r := &Network{Nodes: map[string]*Node{}, hosts: map[string]*netns.Host{}, links: map[string]*udplink.Link{}}
	steps := []func(context.Context, Options) error{r.wire, r.lengthen, r.furnish, r.openShops, r.author}
	for _, step := range steps {
		if err := step(ctx, o); err != nil {
			return r, err
		}
	}
	return r, nil
}

// wire makes switches and hosts.
func (r *Network) wire(context.Context, Options) (err error) {
	if r.left, err = netns.NewSwitch(); err != nil {
		return err
	}
	if r.right, err = netns.NewSwitch(); err != nil {
		return err
	}
	if r.Trunk, err = r.left.Join(r.right); err != nil {
		return err
	}
	for _, name := range Nodes() {
		side := r.left
		if name == Beta || name == Desk {
			side = r.right
		}
		if r.hosts[name], err = side.Host(name, addresses[name]); err != nil {
			return err
		}
	}
	return nil
}

// lengthen puts a path in front of every vertex, or none.
func (r *Network) lengthen(_ context.Context, o Options) error {
	r.Sources = Sources{Vertex: map[string]netip.AddrPort{}, BobsRoles: []string{"customer", "clerk"}}
	for name, host := range r.hosts {
		r.Sources.Vertex[name] = netip.AddrPortFrom(host.Addr, vertexPort)
	}
	if o.Path == nil {
		return nil
	}
	between, err := r.left.Host(middle, addresses[middle])
	if err != nil {
		return err
	}
	for i, name := range Nodes() {
		at := netip.AddrPortFrom(between.Addr, uint16(vertexPort+1+i))
		link, err := udplink.Open(udplink.Options{To: r.Sources.Vertex[name], Listen: at, Path: *o.Path, Socket: between.ListenUDP})
		if err != nil {
			return err
		}
		r.links[name], r.Sources.Vertex[name] = link, at
	}
	return nil
}

// furnish makes the nodes' directories.
func (r *Network) furnish(_ context.Context, o Options) error {
	for _, name := range Nodes() {
		n := &Node{Name: name, Dir: filepath.Join(o.Dir, name), Rete: Rete, Programs: o.Programs, Host: r.hosts[name]}
		if err := os.MkdirAll(n.StateDir(), 0o700); err != nil {
			return err
		}
		if o.Prepare != nil {
			if err := o.Prepare(n); err != nil {
				return err
			}
		}
		r.Nodes[name] = n
	}
	r.Operator = &Operator{Node: r.Nodes[Laptop], Repo: filepath.Join(o.Dir, Rete), Keys: filepath.Join(o.Dir, "keys")}
	return nil
}

// openShops starts the two services, which know nothing of Florete.
func (r *Network) openShops(context.Context, Options) error {
	shop, err := r.hosts[Alpha].ListenTCP(shopAt)
	if err != nil {
		return err
	}
	r.Shop = traffic.ServeShop(shop, &traffic.Client{Proxy: shopProxy.String(), Rete: Rete, From: r.hosts[Alpha]})
	stock, err := r.hosts[Beta].ListenTCP(stockAt)
	if err != nil {
		return err
	}
	r.stock = traffic.ServeStock(stock)
	return nil
}

// author makes the repository and enrols every node.
func (r *Network) author(ctx context.Context, _ Options) error {
	if err := r.Operator.Init(ctx, "--operator", "fyodor", "--node", Management, "--address", r.Sources.Vertex[Management].String()); err != nil {
		return err
	}
	if err := r.Compile(ctx); err != nil {
		return err
	}
	for _, name := range Nodes() { // in turn: one works in a repository at a time
		if err := r.Operator.Enrol(ctx, r.Nodes[name]); err != nil {
			return err
		}
	}
	return nil
}

// each does something for every node, for all of them at once.
func (r *Network) each(do func(*Node) error) error {
	var all errgroup.Group
	for _, n := range r.Nodes {
		all.Go(func() error { return do(n) })
	}
	return all.Wait()
}

// Compile writes the sources and compiles them.
func (r *Network) Compile(ctx context.Context) error {
	if err := r.Operator.Write(r.Sources.Files()); err != nil {
		return err
	}
	_, err := r.Operator.Compile(ctx)
	return err
}

// Publish writes and compiles the sources, and publishes the tree.
func (r *Network) Publish(ctx context.Context) error {
	if err := r.Compile(ctx); err != nil {
		return err
	}
	_, err := r.Operator.Retectl(ctx, "publish")
	return err
}

// Start starts every node, publishes, and waits until all are healthy and hold
// what is published.
func (r *Network) Start(ctx context.Context) error {
	for _, n := range r.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	if err := r.AwaitAll(ctx, "serving", Serving); err != nil {
		return err
	}
	if err := r.Publish(ctx); err != nil {
		return err
	}
	return r.AwaitPublished(ctx)
}

// AwaitAll waits until the status of every node fits.
func (r *Network) AwaitAll(ctx context.Context, what string, fits func(control.StatusDoc) bool) error {
	return r.each(func(n *Node) error {
		_, err := n.Await(ctx, what, fits)
		return err
	})
}

// AwaitPublished waits until every node holds the newest compiled set, is in
// step with the coordinator, and is healthy.
func (r *Network) AwaitPublished(ctx context.Context, except ...string) error {
	versions, err := r.Operator.Versions()
	if err != nil {
		return err
	}
	return r.each(func(n *Node) error {
		for _, name := range except {
			if name == n.Name {
				return nil
			}
		}
		_, err := n.Await(ctx, fmt.Sprintf("healthy on v%d", versions[n.Name]), func(s control.StatusDoc) bool {
			return Holds(versions[n.Name])(s) && s.Set.Pending == 0 && InStep(s) && Healthy(s)
		})
		return err
	})
}

// Host is the machine of a node.
func (r *Network) Host(node string) *netns.Host { return r.hosts[node] }

// Link is the path to a node's vertex; nil when the rete has none.
func (r *Network) Link(node string) *udplink.Link { return r.links[node] }

// As is a user's way into the rete: of fyodor, alice or bob. It may be called by
// any goroutine.
func (r *Network) As(user string) *traffic.Client {
	return &traffic.Client{Proxy: proxies[user], Rete: Rete, From: r.hosts[nodeOf(user)]}
}

// PowerOff ends everything on a node at once, as a power cut does. What was
// written is kept. Node.Start is its next boot.
func (r *Network) PowerOff(node string) error {
	n := r.Nodes[node]
	n.expectEnd()
	err := r.hosts[node].PullPlug()
	n.forget()
	return err
}

// Close stops the agents in order, then everything else, and reports what did not
// end well or is left.
func (r *Network) Close() error {
	var mu sync.Mutex
	var faults []error
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		faults = append(faults, err)
	}
	_ = r.each(func(n *Node) error {
		note(n.Stop())
		return nil
	})
	for name, host := range r.hosts {
		if host == nil {
			continue
		}
		if left := host.Processes(); len(left) > 0 {
			note(fmt.Errorf("processes %d are left on %s", left, name))
			note(host.PullPlug())
		}
	}
	note(r.closeServices())
	return errors.Join(faults...)
}

func (r *Network) closeServices() error {
	var faults []error
	if r.Shop != nil {
		faults = append(faults, r.Shop.Close())
	}
	if r.stock != nil {
		_ = r.stock.Close()
	}
	for _, link := range r.links {
		faults = append(faults, link.Close())
	}
	for _, s := range []*netns.Switch{r.left, r.right} {
		if s != nil {
			faults = append(faults, s.Close())
		}
	}
	return errors.Join(faults...)
}
