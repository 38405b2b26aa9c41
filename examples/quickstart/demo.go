package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// demo is one rete and what is shown on it.
type demo struct {
	report  *reporter
	install installation
	dir     string
	nodes   []*node
	addrs   addresses
	shop    *shop
	stock   *stock
}

// play is the demonstration, step by step.
func (d *demo) play(ctx context.Context) error {
	steps := []func(context.Context) error{
		d.startServices, d.author, d.enrol, d.startAgents, d.publish,
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

func (d *demo) repo() string { return filepath.Join(d.dir, reteName) }

func (d *demo) node(name string) *node {
	for _, n := range d.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// as is the way into the rete of the principal whose SOCKS5 port this is.
func (d *demo) as(proxy string) *socksClient { return &socksClient{proxy: proxy, rete: reteName} }

// startServices starts what is there before any rete: two services, and
// the choice of ports.
func (d *demo) startServices(context.Context) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	shopClient := &socksClient{rete: reteName}
	var err error
	if d.shop, err = startShop(shopClient); err != nil {
		return err
	}
	if d.stock, err = startStock(); err != nil {
		return err
	}
	if d.addrs, err = probeAddresses(d.shop.addr(), d.stock.addr()); err != nil {
		return err
	}
	shopClient.proxy = d.addrs.shopProxy
	d.report.step("two services listen, knowing nothing of Florete: shop at %s, stock at %s", d.shop.addr(), d.stock.addr())
	return nil
}

// author makes the repository of the rete, as an operator would.
func (d *demo) author(ctx context.Context) error {
	if _, err := d.retectlIn(ctx, d.dir, "init", reteName, "--operator", "fyodor", "--node", management,
		"--address", d.addrs.vertex[management], "--no-passphrase"); err != nil {
		return err
	}
	d.report.step("retectl init: a repository with a root CA and a signer")
	if err := writeSources(d.repo(), d.addrs.files("customer, clerk")); err != nil {
		return err
	}
	return d.compile(ctx, "four nodes, two services, three users")
}

// compile validates and compiles, and shows what moved.
func (d *demo) compile(ctx context.Context, what string) error {
	if _, err := d.retectl(ctx, "validate"); err != nil {
		return err
	}
	out, err := d.retectl(ctx, "compile")
	if err != nil {
		return err
	}
	d.report.step("retectl validate, retectl compile: %s", what)
	d.report.text(out)
	return nil
}

// enrol gives every node its bundle.
func (d *demo) enrol(ctx context.Context) error {
	for _, name := range []string{management, alpha, beta, laptop} {
		n := &node{name: name, dir: filepath.Join(d.dir, name), rete: reteName, report: d.report}
		if err := os.MkdirAll(n.dir, 0o700); err != nil {
			return err
		}
		d.nodes = append(d.nodes, n)
		bundle := filepath.Join(n.dir, name+".bundle")
		if _, err := d.retectl(ctx, "issue-bundle", "--node", name, "--out", bundle); err != nil {
			return err
		}
		if _, err := d.flor(ctx, n, "enroll", bundle, "--no-start"); err != nil {
			return err
		}
	}
	d.report.step("retectl issue-bundle, flor enroll: mgmt01, alpha, beta and laptop hold their keys and first sets")
	return nil
}

func (d *demo) startAgents(ctx context.Context) error {
	for _, n := range d.nodes {
		if err := n.startAgent(d.install.program("flor")); err != nil {
			return err
		}
	}
	for _, n := range d.nodes {
		status, err := n.await(ctx, "serving", serving)
		if err != nil {
			return err
		}
		d.report.step("flor agent run: %s serves set v%d with %s", n.name, status.Set.Active, workloadNames(status))
	}
	return nil
}

// publish brings the tree to the coordinator, through the operator's own way
// into the rete, and waits until every agent has had an answer from it.
func (d *demo) publish(ctx context.Context) error {
	began := time.Now()
	out, err := d.retectl(ctx, "publish")
	if err != nil {
		return err
	}
	d.report.step("retectl publish through the operator's SOCKS5, %d ms", time.Since(began).Milliseconds())
	d.report.text(out)
	for _, n := range d.nodes {
		if _, err := n.await(ctx, "in step with the coordinator", inStep); err != nil {
			return err
		}
	}
	d.report.step("every agent has asked the coordinator and holds what is published")
	return nil
}

func (d *demo) showAllowed(ctx context.Context) error {
	answer, err := d.as(d.addrs.alice).get(ctx, "shop", "/hello")
	if err != nil {
		return fmt.Errorf("alice may reach the shop, but: %w", err)
	}
	d.report.step("allowed: alice asks the shop, which answers %q", answer)
	return nil
}

func (d *demo) showDenied(ctx context.Context) error {
	conn, err := d.as(d.addrs.alice).dial(ctx, "stock")
	if err == nil {
		conn.Close()
		return errors.New("alice may not reach the stock, but was connected")
	}
	if !isDenied(err) {
		return fmt.Errorf("alice should be denied the stock, but: %w", err)
	}
	d.report.step("denied: alice asks the stock, SOCKS reply 2: %v", err)
	return nil
}

func (d *demo) showServiceToService(ctx context.Context) error {
	answer, err := d.as(d.addrs.alice).get(ctx, "shop", "/price/lamp")
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
	out, err := d.flor(ctx, d.node(alpha), "agent", "sync", "--from", forged)
	var failed *commandError
	if !errors.As(err, &failed) || failed.code != 1 {
		return fmt.Errorf("alpha should refuse a forged set with exit code 1, got %v, %q", err, out)
	}
	d.report.step("forged: alpha is offered its set with one byte changed, exit code 1")
	d.report.text(append(out, failed.stderr...))
	return nil
}

// showKilledVertex kills alpha's vertex and asks until alice is answered again.
func (d *demo) showKilledVertex(ctx context.Context) error {
	n := d.node(alpha)
	status, err := n.await(ctx, "serving", serving)
	if err != nil {
		return err
	}
	pid := workload(status, "flor").PID
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

// awaitAnswer asks the shop until it answers; each try has a second.
func (d *demo) awaitAnswer(ctx context.Context, client *socksClient) error {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		try, done := context.WithTimeout(ctx, time.Second)
		_, err := client.get(try, "shop", "/hello")
		done()
		if err == nil {
			return nil
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v, last: %w", stateTimeout, err)
		}
	}
}

func (d *demo) showStatus(ctx context.Context) error {
	for _, n := range d.nodes {
		if _, err := n.await(ctx, "healthy", healthy); err != nil {
			return err
		}
		out, err := d.flor(ctx, n, "agent", "status")
		if err != nil {
			return err
		}
		d.report.step("flor agent status, on %s", n.name)
		d.report.text(out)
	}
	return nil
}

// stop ends agents and services, whatever had been started.
func (d *demo) stop() error {
	var faults []error
	for _, n := range d.nodes {
		faults = append(faults, n.stopAgent())
	}
	if d.shop != nil {
		d.shop.close()
	}
	if d.stock != nil {
		d.stock.close()
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
		"edit " + d.repo() + "/users.yaml, then:",
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

// commandError is a program that ended with an exit code other than 0.
type commandError struct {
	command string
	code    int
	stderr  []string
}

func (e *commandError) Error() string {
	return fmt.Sprintf("%s: exit code %d\n%s", e.command, e.code, strings.Join(e.stderr, "\n"))
}

// flor runs flor on a node.
func (d *demo) flor(ctx context.Context, n *node, args ...string) ([]string, error) {
	return d.command(ctx, d.dir, n, "flor", args...)
}

// retectl runs retectl on the operator's laptop, in the repository.
func (d *demo) retectl(ctx context.Context, args ...string) ([]string, error) {
	return d.retectlIn(ctx, d.repo(), args...)
}

func (d *demo) retectlIn(ctx context.Context, dir string, args ...string) ([]string, error) {
	operators := &node{name: laptop, dir: filepath.Join(d.dir, laptop)}
	return d.command(ctx, dir, operators, "retectl", args...)
}

// command runs a program to its end and returns the lines of its standard
// output; both its outputs are kept in commands.log.
func (d *demo) command(ctx context.Context, dir string, n *node, program string, args ...string) ([]string, error) {
	command := interruptible(ctx, d.install.program(program), args...)
	command.Dir = dir
	command.Env = append(append(cleanEnvironment(), n.environment()...), "RETECTL_HOME="+filepath.Join(d.dir, "keys"), "TMPDIR="+d.dir)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	d.logCommand(command, stdout.String()+stderr.String())
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = &commandError{program + " " + strings.Join(args, " "), exit.ExitCode(), lines(stderr.String())}
	}
	return lines(stdout.String()), err
}

func (d *demo) logCommand(command *exec.Cmd, output string) {
	log, err := os.OpenFile(filepath.Join(d.dir, "commands.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer log.Close()
	fmt.Fprintf(log, "%s %s\n%s\n", time.Now().UTC().Format(time.RFC3339), command, output)
}

func lines(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
