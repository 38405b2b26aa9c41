package vertexsuite

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/conformance/internal/tunnel"
	"github.com/florete/flor/envelope/schema"
)

// socksRow is what a client of a SOCKS5 port sends, and all that it is answered
// until the connection is closed.
type socksRow struct {
	name, title string
	send, want  string
}

// refusal is the answer to a greeting and a reply.
func refusal(code byte) string {
	return "\x05\x00\x05" + string([]byte{code}) + "\x00\x01\x00\x00\x00\x00\x00\x00"
}

// socksCases are about clients of a SOCKS5 port.
func socksCases() []Case {
	to := tunnel.Greeting + tunnel.Request("web.rete-lovers.rete")
	rows := []socksRow{
		{"no-method", "a greeting without method 0 is answered 05 FF and closed", "\x05\x02\x01\x02", "\x05\xff"},
		{"empty-methods", "a greeting without any method is answered 05 FF and closed", "\x05\x00", "\x05\xff"},
		{"other-version", "a greeting of another version is closed", "\x04\x01\x00\x50\x7f\x00\x00\x01\x00", ""},
		{"bind", "BIND has reply 7", strings.Replace(to, "\x05\x01\x00\x05\x01", "\x05\x01\x00\x05\x02", 1), refusal(7)},
		{"udp-associate", "UDP ASSOCIATE has reply 7", strings.Replace(to, "\x05\x01\x00\x05\x01", "\x05\x01\x00\x05\x03", 1), refusal(7)},
		{"other-command", "any other command has reply 7", strings.Replace(to, "\x05\x01\x00\x05\x01", "\x05\x01\x00\x05\x09", 1), refusal(7)},
		{"ipv4", "an IPv4 address has reply 8", tunnel.Greeting + "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", refusal(8)},
		{"ipv6", "an IPv6 address has reply 8", tunnel.Greeting + "\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50", refusal(8)},
		{"unknown-address-type", "an unknown address type has reply 8", tunnel.Greeting + "\x05\x01\x00\x09\x00\x50", refusal(8)},
		{"empty-name", "an empty name has reply 1", tunnel.Greeting + "\x05\x01\x00\x03\x00\x00\x50", refusal(1)},
		{"request-of-other-version", "a request of another version has reply 1", tunnel.Greeting + "\x04\x01\x00\x03\x01a\x00\x50", refusal(1)},
		{"reserved-byte", "a request with its reserved byte set has reply 1", tunnel.Greeting + "\x05\x01\x07\x03\x01a\x00\x50", refusal(1)},
	}
	names := []struct {
		name, title, host string
		reply             byte
	}{
		{"unknown-name", "a name that nobody has", "nobody.rete-lovers.rete", replyUnreachable},
		{"foreign-name", "a name of another trust domain", "web.elsewhere.rete", replyUnreachable},
		{"public-name", "a name outside of .rete", "www.example.org", replyUnreachable},
		{"empty-label", "a name with an empty label", "web..rete-lovers.rete", replyUnreachable},
		{"many-labels", "a name of three labels", "a.b.c.rete-lovers.rete", replyUnreachable},
	}
	cases := []Case{
		{"socks/capitals-and-dot", "a name in capitals with a dot at its end leads where it does in lower case", "VTX-10", checkSpelling},
		{"socks/any-port", "the port of a request is ignored", "VTX-10", checkAnyPort},
		{"socks/one-segment", "greeting, request and data in one segment work", "VTX-10", checkOneSegment},
		{"socks/byte-by-byte", "a greeting and request that come byte by byte work", "VTX-10", checkByteByByte},
		{"socks/silent-client", "a client that sends nothing is cut after 10 s", "VTX-10", checkSilentClient},
		{"socks/refused-upstream", "where nobody listens at a local target the reply is 5", "VTX-10 VTX-11", checkLocalRefused},
		{"socks/denied-by-egress", "a target that egress does not allow has reply 2 at once, and nobody is dialled", "VTX-4 VTX-10", checkEgress},
	}
	for _, r := range rows {
		cases = append(cases, Case{"socks/" + r.name, r.title, "VTX-10", r.check})
	}
	for _, r := range names {
		cases = append(cases, Case{"socks/" + r.name, r.title + " has reply 4", "VTX-10", func(t *trial.T, v *tunnel.Vertex) {
			v.Start()
			if _, got := v.Ask(r.host); got != r.reply {
				t.Fatalf("CONNECT to %s has reply %d; it must be %d", r.host, got, r.reply)
			}
		}})
	}
	return cases
}

func (r socksRow) check(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	c := tunnel.Connect(t, v.SOCKS)
	c.Send(r.send)
	if got := c.Everything(); got != r.want {
		t.Fatalf("% x is answered % x, then closed; it must be % x", r.send, got, r.want)
	}
}

func checkSpelling(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	v.Reach("WEB.Rete-Lovers.RETE.").Send("hello")
	v.Web.Next().Expect("hello")
}

func checkAnyPort(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	c := tunnel.Connect(t, v.SOCKS)
	request := tunnel.Request(v.Host("web"))
	c.Send(tunnel.Greeting + request[:len(request)-2] + "\xff\xfe")
	replied(t, c, replyConnected, "the port is another one")
}

func checkOneSegment(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	c := tunnel.Connect(t, v.SOCKS)
	c.Send(tunnel.Greeting + tunnel.Request(v.Host("web")) + "early")
	replied(t, c, replyConnected, "data came with the request")
	v.Web.Next().Expect("early")
}

func checkByteByByte(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	c := tunnel.Connect(t, v.SOCKS)
	for _, b := range []byte(tunnel.Greeting + tunnel.Request(v.Host("web"))) {
		c.Send(string([]byte{b}))
	}
	replied(t, c, replyConnected, "the request came byte by byte")
	c.Send("hello")
	v.Web.Next().Expect("hello")
}

func checkSilentClient(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	c := tunnel.Connect(t, v.SOCKS)
	c.Send("\x05")
	began := time.Now()
	if got := c.Everything(); got != "" {
		t.Fatalf("a client that sends half a greeting is answered % x; it must be cut", got)
	}
	if took := time.Since(began); took < 8*time.Second {
		t.Fatalf("a slow client was cut after %v; it has 10 s", took)
	}
}

func checkLocalRefused(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Workloads[1].IO[0].Upstream = tunnel.FreeTCP(t)
	v.Start()
	if _, got := v.Ask(v.Host("web")); got != replyRefused {
		t.Fatalf("where nobody listens at a local target the reply is %d; it must be 5", got)
	}
}

func checkEgress(t *trial.T, v *tunnel.Vertex) {
	v.Link("/service/far", tunnel.DeadUDP(t))
	v.Payload.Egress[1].Allow = []string{v.Rete.ID("/service/web")}
	v.Start()
	began := time.Now()
	if _, got := v.Ask(v.Host("far")); got != replyDenied {
		t.Fatalf("a target that egress does not allow has reply %d; it must be 2", got)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Fatalf("the reply took %v; egress answers at once, without a dial", took)
	}
}

// localCases are about targets and ports of this very vertex.
func localCases() []Case {
	return []Case{
		{"local/in-process", "a target on the same vertex is reached", "VTX-11", checkInProcess},
		{"local/gate", "a target on the same vertex is guarded by the same ingress", "VTX-11 VTX-4", checkLocalGate},
		{"local/cut", "a flow on the same vertex is reset when the pair is no longer allowed", "VTX-8 VTX-11", checkLocalCut},
		{"local/half-close", "on the same vertex EOF of one direction leaves the other alone", "VTX-7 VTX-11", checkLocalHalfClose},
		{"local/reset", "on the same vertex an abort of the service is an abort at the client", "VTX-7 VTX-11", checkLocalReset},
		{"forward/connects", "a forward connects its port to its target", "VTX-19", checkForward},
		{"forward/denied", "a refusal of a forward is RST", "VTX-19", checkForwardDenied},
		{"ports/busy", "a busy port is named in ready while everything else serves, and is opened when it is free", "VTX-13", checkBusyPort},
		{"identity/missing", "a principal without identity is waited for while everything else serves", "VTX-12", checkMissingIdentity},
		{"identity/found-on-sighup", "an identity that has come is found on SIGHUP", "VTX-12", checkFoundIdentity},
		{"apply/tables", "a payload that differs in its tables is swapped, and open streams go on", "VTX-16 SUP-11", checkApplyTables},
		{"apply/ports", "a local port that a payload moves is opened and the old one closed", "VTX-16", checkApplyPorts},
		{"apply/restart", "a payload with another adapter address needs a restart", "VTX-16 SUP-11", checkApplyRestart},
		{"apply/dry-run", "a dry run changes nothing", "VTX-16 SUP-11", checkApplyDryRun},
	}
}

func checkInProcess(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	client := v.Reach(v.Host("web"))
	service := v.Web.Next()
	client.Send("hello")
	service.Expect("hello")
	service.Send("good day")
	client.Expect("good day")
}

func checkLocalGate(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Ingress[0].Allow = []string{v.Rete.ID("/user/bob")}
	v.Start()
	if _, got := v.Ask(v.Host("web")); got != replyDenied {
		t.Fatalf("a local target that ingress does not allow has reply %d; it must be 2", got)
	}
	if v.Web.Waiting() > 0 {
		t.Fatalf("the service was connected to for an initiator that is denied")
	}
}

func checkLocalCut(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	client := v.Reach(v.Host("web"))
	v.Web.Next()
	v.Payload.Ingress[0].Allow = []string{v.Rete.ID("/user/bob")}
	swapped(t, v, 2)
	client.ExpectReset("its pair is no longer allowed")
}

func checkLocalHalfClose(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	client := v.Reach(v.Host("web"))
	service := v.Web.Next()
	client.Send("all")
	client.Finish()
	service.Expect("all")
	service.ExpectEnd()
	service.Send("and more")
	client.Expect("and more")
	service.Finish()
	client.ExpectEnd()
}

func checkLocalReset(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	client := v.Reach(v.Host("web"))
	v.Web.Next().Abort()
	client.ExpectReset("the service aborted its connection")
}

// forward gives alice a forward to web.
func forward(t *trial.T, v *tunnel.Vertex) string {
	port := tunnel.FreeTCP(t)
	v.Payload.Workloads[0].IO = append(v.Payload.Workloads[0].IO, schema.IO{Kind: "forward", Listen: port, Target: v.Rete.ID("/service/web")})
	return port
}

func checkForward(t *trial.T, v *tunnel.Vertex) {
	port := forward(t, v)
	v.Start()
	client := tunnel.Connect(t, port)
	service := v.Web.Next()
	client.Send("hello")
	service.Expect("hello")
	service.Send("good day")
	client.Expect("good day")
}

func checkForwardDenied(t *trial.T, v *tunnel.Vertex) {
	port := forward(t, v)
	v.Payload.Ingress[0].Allow = []string{v.Rete.ID("/user/bob")}
	v.Start()
	conn, err := net.Dial("tcp", port)
	if errors.Is(err, syscall.ECONNRESET) {
		return // so fast that not even the connect was over
	}
	t.Check(err, "connect to a forward")
	tunnel.Wrap(t, conn).ExpectReset("its target is denied")
}

func checkBusyPort(t *trial.T, v *tunnel.Vertex) {
	holder, err := net.Listen("tcp", v.SOCKS)
	t.Check(err, "hold a port")
	defer holder.Close()
	v.Run(v.Artifact(1, v.Payload))
	v.Until("a busy port must be named under waiting, and the vertex be ready", func(r tunnel.Readiness) bool {
		return r.Ready && slices.Contains(r.Waiting, v.SOCKS)
	})
	v.Dial().Connect()
	t.Check(holder.Close(), "free the port")
	v.Until("a port that is free again must be opened", func(r tunnel.Readiness) bool { return len(r.Waiting) == 0 })
	v.Reach(v.Host("web"))
}

// withoutAlice starts a vertex that has no identity of alice.
func withoutAlice(t *trial.T, v *tunnel.Vertex) {
	for _, name := range []string{"alice.crt", "alice.key"} {
		t.Check(os.Remove(v.Root.Path("identity/certs/"+name)), "remove an identity")
	}
	v.Run(v.Artifact(1, v.Payload))
	v.Until("a principal without identity must be named under waiting, and the vertex be ready", func(r tunnel.Readiness) bool {
		return r.Ready && strings.Contains(strings.Join(r.Waiting, " "), v.Rete.ID("/user/alice"))
	})
}

func checkMissingIdentity(t *trial.T, v *tunnel.Vertex) {
	withoutAlice(t, v)
	v.Dial().Connect()
	if conn, err := net.Dial("tcp", v.SOCKS); err == nil {
		_ = conn.Close()
		t.Fatalf("the port of a principal without identity listens; it must not")
	}
}

func checkFoundIdentity(t *trial.T, v *tunnel.Vertex) {
	withoutAlice(t, v)
	t.Check(v.Root.Principal(v.Rete.Issue("/user/alice")), "write an identity")
	v.Process.Signal(syscall.SIGHUP)
	v.Until("an identity that has come must be found on SIGHUP", func(r tunnel.Readiness) bool { return len(r.Waiting) == 0 })
	v.Reach(v.Host("web"))
}

func checkApplyTables(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	stream := conn.Connect()
	service := v.Web.Next()
	v.Payload.Ingress[0].Allow = append(v.Payload.Ingress[0].Allow, v.Rete.ID("/user/mallory"))
	swapped(t, v, 2)
	offer := v.Bob()
	offer.Identity = v.Rete.Issue("/user/mallory")
	reaches(t, v, offer)
	stream.Send("still here")
	service.Expect("still here")
}

func checkApplyPorts(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	old := v.SOCKS
	v.SOCKS = tunnel.FreeTCP(t)
	v.Payload.Workloads[0].IO[0].Listen = v.SOCKS
	swapped(t, v, 2)
	v.Reach(v.Host("web"))
	if conn, err := net.Dial("tcp", old); err == nil {
		_ = conn.Close()
		t.Fatalf("the port that the payload has no more still listens")
	}
}

func checkApplyRestart(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	v.Payload.ConnectionManager.Adapters[0].Listen = "127.0.0.1:9"
	if got := v.Apply(2, false); got != "restart" {
		t.Fatalf("a payload with another adapter address is answered %q; it must be restart", got)
	}
	v.Dial().Connect()
}

func checkApplyDryRun(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	allowed := v.Payload.Ingress[0].Allow
	v.Payload.Ingress[0].Allow = []string{v.Rete.ID("/user/alice")}
	if got := v.Apply(2, true); got != "swapped" {
		t.Fatalf("a dry run of a payload that differs in its tables is answered %q; it must be swapped", got)
	}
	v.Payload.Ingress[0].Allow = allowed
	v.Dial().Connect()
}

// programCases are about the program: what it takes and how it ends.
func programCases() []Case {
	return []Case{
		{"program/clean-stop", "SIGTERM ends a vertex that carries nothing with 0", "SUP-4 VTX-15", checkVertexStop},
		{"program/check-good", "--check of a good artifact exits 0 and serves nothing", "VTX-16", checkCheckGood},
		{"program/check-bad", "--check of a payload that breaks a rule exits 78", "VTX-16 SUP-3", checkCheckBad},
		{"program/bad-payload", "a payload that breaks a rule exits 78", "VTX-13 SUP-3", checkBadPayload},
		{"program/newer-payload", "a payload of a newer minor exits 78", "ENV-14 SUP-3", checkNewerPayload},
		{"program/foreign-domain", "a payload of another trust domain than rete.json exits 78", "VTX-13 SUP-3", checkForeignDomain},
		{"program/mesh", "a payload of kind mesh exits 78", "VTX-18 SUP-3", checkMesh},
	}
}

func checkVertexStop(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	if code := v.Process.Stop(); code != 0 {
		t.Fatalf("SIGTERM ends the vertex with exit %d; it must be 0", code)
	}
}

func checkCheckGood(t *trial.T, v *tunnel.Vertex) {
	if code := v.Judge(v.Artifact(1, v.Payload)); code != 0 {
		t.Fatalf("--check of a good artifact exits %d; it must be 0", code)
	}
}

// unservable starts the program on a payload, which must exit 78.
func unservable(t *trial.T, v *tunnel.Vertex, payload any, what string) {
	v.Run(v.Artifact(1, payload))
	t.Await(what+" must be turned down with exit 78", func() bool {
		if v.Serves() {
			t.Fatalf("%s is served; it must be turned down with exit 78", what)
		}
		return v.Process.Ended()
	})
	if code := v.Process.Exit(); code != 78 {
		t.Fatalf("%s exits %d; it must be 78, which is not tried again", what, code)
	}
}

func checkCheckBad(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Workloads[0].IO[0].Listen = "nowhere"
	if code := v.Judge(v.Artifact(1, v.Payload)); code != 78 {
		t.Fatalf("--check of a payload with a bad address exits %d; it must be 78", code)
	}
}

func checkBadPayload(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Workloads[0].IO[0].Listen = "nowhere"
	unservable(t, v, v.Payload, "a payload with a bad address")
}

func checkNewerPayload(t *trial.T, v *tunnel.Vertex) {
	v.Payload.SchemaVersion = "1.999"
	unservable(t, v, v.Payload, "a payload of schema 1.999")
}

func checkForeignDomain(t *trial.T, v *tunnel.Vertex) {
	for _, rules := range [][]schema.Rule{v.Payload.Ingress, v.Payload.Egress} {
		for i := range rules {
			rules[i].Target = abroad(rules[i].Target)
			for j, id := range rules[i].Allow {
				rules[i].Allow[j] = abroad(id)
			}
		}
	}
	for i, w := range v.Payload.Workloads {
		v.Payload.Workloads[i].SPIFFEID = abroad(w.SPIFFEID)
	}
	unservable(t, v, v.Payload, "a payload of another trust domain")
}

// abroad is an ID of the same path in another trust domain.
func abroad(id string) string { return strings.Replace(id, "rete-lovers", "elsewhere", 1) }

func checkMesh(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Kind = "mesh"
	unservable(t, v, v.Payload, "a payload of kind mesh")
}
