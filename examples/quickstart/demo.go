package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/florete/flor/conformance/lab"
	"github.com/florete/flor/conformance/lab/traffic"
)

// demo is one rete and what is shown on it.
type demo struct {
	report   *reporter
	programs lab.Programs
	dir      string
	operator *lab.Operator
	nodes    []*lab.Node
	addrs    addresses
	shop     *traffic.Shop
	stock    *traffic.Stock
}

// play is the demonstration, step by step.
func (d *demo) play(ctx context.Context) error {
	steps := []func(context.Context) error{
		d.startServices, d.prepareNodes, d.author, d.enrol, d.startAgents, d.publish,
		d.showAllowed, d.showDenied, d.showServiceToService,
		d.showRevocation, d.showForgery, d.showKilledVertex, d.showStatus,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) node(name string) *lab.Node {
	for _, n := range d.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// as is the way into the rete of the principal whose SOCKS5 port this is.
func (d *demo) as(proxy string) *traffic.Client { return &traffic.Client{Proxy: proxy, Rete: reteName} }

// startServices starts what is there before any rete: two services, and
// the choice of ports.
func (d *demo) startServices(context.Context) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	shop, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the shop: %w", err)
	}
	database := d.as("")
	d.shop = traffic.ServeShop(shop, database)
	stock, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the stock: %w", err)
	}
	d.stock = traffic.ServeStock(stock)
	if d.addrs, err = probeAddresses(shop.Addr().String(), stock.Addr().String()); err != nil {
		return err
	}
	database.Proxy = d.addrs.shopProxy
	d.report.step("two services listen, knowing nothing of Florete: shop at %s, stock at %s", shop.Addr(), stock.Addr())
	return nil
}

// prepareNodes gives every node directories of its own.
func (d *demo) prepareNodes(context.Context) error {
	for _, name := range []string{management, alpha, beta, laptop} {
		n := &lab.Node{Name: name, Dir: filepath.Join(d.dir, name), Rete: reteName, Programs: d.programs,
			Restarted: func(how *os.ProcessState) {
				d.report.step("the agent of %s ended (%v) and was started again", name, how)
			}}
		if err := os.MkdirAll(n.Dir, 0o700); err != nil {
			return err
		}
		d.nodes = append(d.nodes, n)
	}
	return nil
}

// author makes the repository of the rete, as an operator would.
func (d *demo) author(ctx context.Context) error {
	d.operator = &lab.Operator{Node: d.node(laptop), Repo: filepath.Join(d.dir, reteName), Keys: filepath.Join(d.dir, "keys")}
	if err := d.operator.Init(ctx, "--operator", "fyodor", "--node", management, "--address", d.addrs.vertex[management]); err != nil {
		return err
	}
	d.report.step("retectl init: a repository with a root CA and a signer")
	if err := d.operator.Write(d.addrs.files("customer, clerk")); err != nil {
		return err
	}
	return d.compile(ctx, "four nodes, two services, three users")
}

// compile validates and compiles, and shows what moved.
func (d *demo) compile(ctx context.Context, what string) error {
	moved, err := d.operator.Compile(ctx)
	if err != nil {
		return err
	}
	d.report.step("retectl validate, retectl compile: %s", what)
	d.report.text(moved)
	return nil
}

// enrol gives every node its bundle.
func (d *demo) enrol(ctx context.Context) error {
	for _, n := range d.nodes {
		if err := d.operator.Enrol(ctx, n); err != nil {
			return err
		}
	}
	d.report.step("retectl issue-bundle, flor enroll: mgmt01, alpha, beta and laptop hold their keys and first sets")
	return nil
}

func (d *demo) startAgents(ctx context.Context) error {
	for _, n := range d.nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	for _, n := range d.nodes {
		status, err := n.Await(ctx, "serving", lab.Serving)
		if err != nil {
			return err
		}
		d.report.step("flor agent run: %s serves set v%d with %s", n.Name, status.Set.Active, lab.WorkloadNames(status))
	}
	return nil
}

// publish brings the tree to the coordinator, through the operator's own way
// into the rete, and waits until every agent has had an answer from it.
func (d *demo) publish(ctx context.Context) error {
	began := time.Now()
	out, err := d.operator.Retectl(ctx, "publish")
	if err != nil {
		return err
	}
	d.report.step("retectl publish through the operator's SOCKS5, %d ms", time.Since(began).Milliseconds())
	d.report.text(out)
	for _, n := range d.nodes {
		if _, err := n.Await(ctx, "in step with the coordinator", lab.InStep); err != nil {
			return err
		}
	}
	d.report.step("every agent has asked the coordinator and holds what is published")
	return nil
}

func (d *demo) showAllowed(ctx context.Context) error {
	answer, err := d.as(d.addrs.alice).Get(ctx, "shop", "/hello")
	if err != nil {
		return fmt.Errorf("alice may reach the shop, but: %w", err)
	}
	d.report.step("allowed: alice asks the shop, which answers %q", answer)
	return nil
}

func (d *demo) showDenied(ctx context.Context) error {
	conn, err := d.as(d.addrs.alice).Dial(ctx, "stock")
	if err == nil {
		conn.Close()
		return errors.New("alice may not reach the stock, but was connected")
	}
	if !traffic.IsDenied(err) {
		return fmt.Errorf("alice should be denied the stock, but: %w", err)
	}
	d.report.step("denied: alice asks the stock, SOCKS reply 2: %v", err)
	return nil
}

func (d *demo) showServiceToService(ctx context.Context) error {
	answer, err := d.as(d.addrs.alice).Get(ctx, "shop", "/price/lamp")
	if err != nil {
		return fmt.Errorf("the shop may reach the stock, but: %w", err)
	}
	d.report.step("service to service: the shop asks the stock for alice, %q", answer)
	return nil
}

// showForgery offers alpha its own set with one byte changed.
func (d *demo) showForgery(ctx context.Context) error {
	forged := filepath.Join(d.dir, "forged.json")
	if err := d.writeForgedSet(forged); err != nil {
		return err
	}
	out, err := d.node(alpha).Flor(ctx, "agent", "sync", "--from", forged)
	var failed *lab.CommandError
	if !errors.As(err, &failed) || failed.Code != 1 {
		return fmt.Errorf("alpha should refuse a forged set with exit code 1, got %v, %q", err, out)
	}
	d.report.step("forged: alpha is offered its set with one byte changed, exit code 1")
	d.report.text(append(out, failed.Stderr...))
	return nil
}

// showKilledVertex kills alpha's vertex and asks until alice is answered again.
func (d *demo) showKilledVertex(ctx context.Context) error {
	n := d.node(alpha)
	status, err := n.Await(ctx, "serving", lab.Serving)
	if err != nil {
		return err
	}
	pid := lab.Workload(status, "flor").PID
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := process.Kill(); err != nil {
		return fmt.Errorf("kill alpha's vertex, pid %d: %w", pid, err)
	}
	if err := d.awaitAnswer(ctx, d.as(d.addrs.alice)); err != nil {
		return fmt.Errorf("after alpha's vertex was killed: %w", err)
	}
	answered := time.Since(began)
	d.report.step("killed: alpha's vertex, pid %d; alice is answered again after %d ms", pid, answered.Milliseconds())
	return nil
}

// answerTimeout bounds waiting for an answer, or for a connection to be cut.
const answerTimeout = 20 * time.Second

// awaitAnswer asks the shop until it answers; each try has a second.
func (d *demo) awaitAnswer(ctx context.Context, client *traffic.Client) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		try, done := context.WithTimeout(ctx, time.Second)
		_, err := client.Get(try, "shop", "/hello")
		done()
		if err == nil {
			return nil
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v, last: %w", answerTimeout, err)
		}
	}
}

func (d *demo) showStatus(ctx context.Context) error {
	for _, n := range d.nodes {
		if _, err := n.Await(ctx, "healthy", lab.Healthy); err != nil {
			return err
		}
		out, err := n.Flor(ctx, "agent", "status")
		if err != nil {
			return err
		}
		d.report.step("flor agent status, on %s", n.Name)
		d.report.text(out)
	}
	return nil
}

// stop ends agents and services, whatever had been started.
func (d *demo) stop() error {
	var faults []error
	for _, n := range d.nodes {
		faults = append(faults, n.Stop())
	}
	if d.shop != nil {
		d.shop.Close()
	}
	if d.stock != nil {
		d.stock.Close()
	}
	err := errors.Join(faults...)
	if len(d.nodes) > 0 && err == nil {
		d.report.step("all agents stopped")
	}
	return err
}

// printCommands tells how to play with a rete that is kept.
func (d *demo) printCommands() {
	on := filepath.Join(d.dir, "on")
	if err := os.WriteFile(on, []byte(onScript), 0o755); err != nil {
		d.report.step("cannot write %s: %v", on, err)
	}
	curl := "curl --socks5-hostname "
	d.report.step("the rete runs on; Ctrl-C stops it and removes everything. To play with it:")
	d.report.text([]string{
		curl + d.addrs.alice + " http://shop.quickstart.rete/hello          # alice, allowed",
		curl + d.addrs.alice + " http://stock.quickstart.rete/              # alice, denied",
		curl + d.addrs.bob + " http://shop.quickstart.rete/hello          # bob, no longer allowed",
		on + " alpha flor agent status",
		on + " alpha flor agent restart flor",
		"edit " + d.operator.Repo + "/users.yaml, then:",
		on + " laptop retectl validate && " + on + " laptop retectl compile && " + on + " laptop retectl publish",
	})
}

// onScript runs a command as if on one of the nodes.
const onScript = `#!/bin/sh
# usage: on NODE COMMAND [ARG...]
here=$(cd "$(dirname "$0")" && pwd)
node=$here/$1
shift
export PATH="$here/../bin:$PATH" RETECTL_HOME="$here/keys"
export FLOR_STATE_HOME="$node/state" FLOR_CONFIG_HOME="$node/config" FLOR_RUNTIME_DIR="$node/run"
cd "$here/quickstart" && exec "$@"
`
