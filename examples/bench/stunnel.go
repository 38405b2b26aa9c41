package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// raiseStunnel starts stunnel4 as client and as server, with mutual TLS 1.3.
func raiseStunnel(ctx context.Context, dir, backend string) (way, error) {
	program, err := exec.LookPath("stunnel4")
	if err != nil {
		return way{}, fmt.Errorf("%w; install it (apt-get install stunnel4), or leave -stunnel out", err)
	}
	entry, errEntry := freePort()
	middle, errMiddle := freePort()
	if err := errors.Join(errEntry, errMiddle); err != nil {
		return way{}, err
	}
	server, err := startStunnel(ctx, program, dir, target, "no", middle, backend)
	if err != nil {
		return way{}, err
	}
	near, err := startStunnel(ctx, program, dir, client, "yes", entry, middle)
	if err != nil {
		stopAll(server)
		return way{}, err
	}
	w := way{name: "stunnel4", dial: dialTCP(entry), procs: []*os.Process{near.Process, server.Process}}
	w.stop = func() { stopAll(near, server) }
	if err := awaitWay(w); err != nil {
		w.stop()
		return way{}, err
	}
	return w, nil
}

func startStunnel(ctx context.Context, program, dir string, id spiffeid.ID, isClient, accept, connect string) (*exec.Cmd, error) {
	root, err := os.MkdirTemp(dir, "stunnel")
	if err != nil {
		return nil, err
	}
	issued := authority.Issue(id)
	key, err := x509.MarshalPKCS8PrivateKey(issued.Key)
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(root, name) }
	config := fmt.Sprintf(`foreground = yes
pid =
debug = err
[tunnel]
client = %s
accept = %s
connect = %s
cert = %s
key = %s
CAfile = %s
verifyChain = yes
sslVersionMin = TLSv1.3
`, isClient, accept, connect, at("cert"), at("key"), at("ca"))
	err = errors.Join(
		write(at("cert"), certificatePEM(issued.Cert)),
		write(at("key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		write(at("ca"), certificatePEM(authority.CA)),
		write(at("conf"), []byte(config)))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, at("conf"))
	return cmd, cmd.Start()
}
