package vertex

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

// asProcess makes the test's own binary run one vertex, which it is told of on
// standard input, until that ends.
const asProcess = "BE_VERTEX"

// errand is what such a process is told.
type errand struct {
	Payload *schema.Vertex
	CA      []byte
	Issued  []issued
}

type issued struct {
	ID        string
	Cert, Key []byte
}

// outside is a vertex in a process of its own, which a test can kill and stop.
type outside struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.Closer
	log *logBook
}

// starter starts a command: exec.Cmd's own Start, or that of a host in a lab.
type starter func(*exec.Cmd) error

// launch starts a vertex in a process of its own and waits until it is ready.
func launch(t testing.TB, payload *schema.Vertex, ids *wallet, start starter) *outside {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{t: t, cmd: exec.Command(self), log: newLogBook()}
	o.cmd.Env = append(os.Environ(), asProcess+"=1")
	o.cmd.Stdout, o.cmd.Stderr = o.log, o.log
	in, err := o.cmd.StdinPipe()
	if err == nil {
		err = start(o.cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.in = in
	t.Cleanup(o.end)
	if err := json.NewEncoder(in).Encode(ids.errand(t, payload)); err != nil {
		t.Fatal(err)
	}
	await(t, "the vertex's process to be ready", func() bool { return o.log.count(ready) == 1 })
	return o
}

func (w *wallet) errand(t testing.TB, payload *schema.Vertex) errand {
	e := errand{Payload: payload, CA: w.ca.Raw}
	for id, have := range w.issued {
		key, err := x509.MarshalPKCS8PrivateKey(have.Key)
		if err != nil {
			t.Fatal(err)
		}
		e.Issued = append(e.Issued, issued{id.String(), have.Cert.Raw, key})
	}
	return e
}

// end stops the process, if it is still there, and shows its log if the test failed.
func (o *outside) end() {
	o.in.Close()
	_ = o.cmd.Process.Signal(syscall.SIGCONT)
	_ = o.cmd.Wait()
	if o.t.Failed() {
		o.t.Logf("log of a vertex's process:\n%s", o.log)
	}
}

// kill ends the process as it stands (SIGKILL).
func (o *outside) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

// sleep stops the process for a while (SIGSTOP), like a machine that is put to sleep.
func (o *outside) sleep(d time.Duration) {
	_ = o.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	_ = o.cmd.Process.Signal(syscall.SIGCONT)
}

// ready is what the process logs once it can dial and be dialled.
const ready = "the vertex is ready"

// beVertex is the process: it runs a vertex until standard input ends.
func beVertex() error {
	in := json.NewDecoder(os.Stdin)
	var e errand
	if err := in.Decode(&e); err != nil {
		return err
	}
	ids, err := e.wallet()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	v, err := New(e.Payload, ids, Options{Log: log, Grace: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, io.MultiReader(in.Buffered(), os.Stdin))
		stop()
	}()
	go func() {
		if v.WaitReady(ctx) == nil {
			log.Info(ready)
		}
	}()
	return v.Run(ctx)
}

func (e errand) wallet() (*wallet, error) {
	ca, err := x509.ParseCertificate(e.CA)
	if err != nil {
		return nil, err
	}
	w := newWallet()
	w.ca = ca
	for _, i := range e.Issued {
		identity, err := i.identity()
		if err != nil {
			return nil, fmt.Errorf("identity of %s: %w", i.ID, err)
		}
		w.put(identity)
	}
	return w, nil
}

func (i issued) identity() (*envelopetest.Identity, error) {
	id, err := spiffeid.FromString(i.ID)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(i.Cert)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(i.Key)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return &envelopetest.Identity{ID: id, Cert: cert, Key: signer}, nil
}
