package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/lab"
	"github.com/florete/flor/conformance/lab/traffic"
)

// world is what happens to the rete, one thing after the other.
type world struct {
	rete   *lab.Network
	chance *rand.Rand
	began  time.Time
	calm   time.Duration // since the start, when killing ends
	signer int           // the number of the one that signs
	events []event
}

func newWorld(p plan, rete *lab.Network, began time.Time) *world {
	return &world{rete: rete, chance: rand.New(rand.NewPCG(p.seed, 0)), began: began, calm: p.lasts/2 - min(warmUp, p.lasts/6)}
}

// warmUp is what a process that was killed last has until it is judged: the heap
// of a new one grows for some seconds.
const warmUp = 20 * time.Second

// doing is one kind of thing that happens, and how often of all.
type doing struct {
	weight int
	do     func(context.Context) error
}

// run lets things happen until ctx is done. An error is what must not come of
// them.
func (w *world) run(ctx context.Context) error {
	always := []doing{{6, w.publish}, {4, w.abort}, {2, w.revoke}, {1, w.rotate}}
	rough := append([]doing{{4, w.killAgent}, {4, w.killVertex}, {2, w.killCoordinator}, {2, w.cutCable}}, always...)
	for w.pause(ctx, 500*time.Millisecond, 2*time.Second) {
		doings := always
		if time.Since(w.began) < w.calm {
			doings = rough
		}
		if err := w.pick(doings)(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (w *world) pick(doings []doing) func(context.Context) error {
	total := 0
	for _, d := range doings {
		total += d.weight
	}
	at := w.chance.IntN(total)
	for _, d := range doings {
		if at -= d.weight; at < 0 {
			return d.do
		}
	}
	return doings[0].do
}

// pause waits for a time by chance and tells whether the run goes on.
func (w *world) pause(ctx context.Context, least, most time.Duration) bool {
	select {
	case <-time.After(least + time.Duration(w.chance.Int64N(int64(most-least)))):
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *world) happened(kind, format string, args ...any) {
	w.events = append(w.events, event{time.Since(w.began), kind, fmt.Sprintf(format, args...)})
}

func (w *world) node() *lab.Node {
	names := lab.Nodes()
	return w.rete.Nodes[names[w.chance.IntN(len(names))]]
}

// publish makes an edit, and tries until it gets through: what it needs may just
// be starting again.
func (w *world) publish(ctx context.Context) error {
	w.rete.Sources.Edits++
	if err := w.rete.Compile(ctx); err != nil {
		return err
	}
	for began := time.Now(); ; {
		_, err := w.rete.Operator.Retectl(ctx, "publish")
		if err == nil {
			w.happened("publish", "edit %d", w.rete.Sources.Edits)
			return nil
		}
		if time.Since(began) > recoverWithin || !w.pause(ctx, 200*time.Millisecond, time.Second) {
			return err
		}
		w.happened("in vain", "%v", err)
	}
}

// recoverWithin bounds the time in which what was broken is whole again.
const recoverWithin = time.Minute

// recover publishes once more and waits until every node is well.
func (w *world) recover(ctx context.Context) error {
	if err := w.publish(ctx); err != nil {
		return err
	}
	return w.rete.AwaitPublished(ctx)
}

// abort resets connections in the middle of a download.
func (w *world) abort(ctx context.Context) error {
	client := w.rete.As("alice")
	client.From = resetting{w.rete.Host(lab.Laptop)}
	for range 1 + w.chance.IntN(8) {
		conn, err := client.Dial(ctx, "shop")
		if err != nil {
			continue // its vertex may be starting again
		}
		_, _ = fmt.Fprint(conn, "GET /catalogue HTTP/1.1\r\nHost: shop\r\n\r\n")
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = conn.Read(make([]byte, 4096))
		conn.Close()
	}
	w.happened("abort", "downloads reset")
	return nil
}

// resetting is a dialer whose connections end by a reset.
type resetting struct {
	from interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	}
}

// DialContext connects like the dialer below.
func (r resetting) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := r.from.DialContext(ctx, network, address)
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetLinger(0)
	}
	return conn, err
}

// revoke takes the shop away from bob while he downloads, and gives it back.
func (w *world) revoke(ctx context.Context) error {
	download := traffic.StartDownload(ctx, w.rete.As("bob"))
	select {
	case <-download.Started():
	case <-download.Done(): // one of two vertices is starting again
		return nil
	}
	w.rete.Sources.BobsRoles = []string{"clerk"}
	if err := w.publish(ctx); err != nil {
		return err
	}
	select {
	case <-download.Done():
		w.happened("revocation", "bob was cut: %v", download.Err())
	case <-time.After(recoverWithin):
		return fmt.Errorf("bob still downloads a minute after his role was taken away")
	}
	w.rete.Sources.BobsRoles = []string{"customer", "clerk"}
	return w.publish(ctx)
}

// rotate exchanges the signer, once all nodes are well.
func (w *world) rotate(ctx context.Context) error {
	if err := w.recover(ctx); err != nil {
		return err
	}
	from, to := signerName(w.signer), signerName(w.signer+1)
	if err := w.rete.Operator.Rotate(ctx, from, to); err != nil {
		return err
	}
	w.signer++
	w.happened("rotation", "%s signs in place of %s", to, from)
	return nil
}

func signerName(n int) string {
	if n == 0 {
		return "primary"
	}
	return fmt.Sprintf("signer%d", n)
}

func (w *world) killAgent(context.Context) error {
	n := w.node()
	n.KillAgent()
	w.happened("kill", "agent of %s", n.Name)
	return nil
}

func (w *world) killVertex(ctx context.Context) error { return w.kill(ctx, w.node(), "flor") }

func (w *world) killCoordinator(ctx context.Context) error {
	return w.kill(ctx, w.rete.Nodes[lab.Management], "coordinator")
}

// kill kills a workload, if it runs.
func (w *world) kill(ctx context.Context, n *lab.Node, workload string) error {
	status, err := n.Control().Status(ctx)
	if err != nil {
		return nil // its agent is starting again
	}
	pid := lab.Workload(status, workload).PID
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return nil
	}
	w.happened("kill", "%s of %s", workload, n.Name)
	return nil
}

// cutCable takes a node off the network for a while.
func (w *world) cutCable(ctx context.Context) error {
	n := w.node()
	cable := w.rete.Host(n.Name).Cable
	if err := cable.Cut(); err != nil {
		return err
	}
	w.happened("cut", "%s is off the network", n.Name)
	w.pause(ctx, time.Second, 4*time.Second)
	return cable.Mend()
}
