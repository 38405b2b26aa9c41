package vertexsuite

import "github.com/florete/flor/conformance/internal/mutant"

// Mutants are vertices that are wrong in one thing each.
func Mutants() []mutant.Mutant {
	return mutant.ByFile{
		"cmd/flor-vertex/run.go":         vertexProgramMutants,
		"envelope/schema/hostname.go":    hostnameMutants,
		"vertex/acceptor.go":             acceptorMutants,
		"vertex/apply.go":                applyMutants,
		"vertex/blame.go":                blameMutants,
		"vertex/client.go":               clientMutants,
		"vertex/drain.go":                drainMutants,
		"vertex/endpoint.go":             endpointMutants,
		"vertex/flow.go":                 flowMutants,
		"vertex/guard.go":                guardMutants,
		"vertex/identity.go":             identityMutants,
		"vertex/inbound.go":              inboundMutants,
		"vertex/initiator.go":            initiatorMutants,
		"vertex/internal/socks/socks.go": socksMutants,
		"vertex/leg.go":                  legMutants,
		"vertex/peer.go":                 peerMutants,
		"vertex/ready.go":                readyMutants,
		"vertex/reason.go":               reasonMutants,
		"vertex/session.go":              sessionMutants,
		"vertex/tables.go":               tableMutants,
		"vertex/transport.go":            transportMutants,
		"vertex/verify.go":               verifyMutants,
		"vertex/vertex.go":               runMutants,
		"vertex/wire.go":                 wireMutants,
	}.List()
}

var vertexProgramMutants = []mutant.Mutant{
	{Name: "checks-nothing", Kills: []string{"program/check-bad"},
		Old: "func check(c *program.Context, a envelope.Artifact) error {",
		New: "func check(c *program.Context, a envelope.Artifact) error {\n\tif mutated() {\n\t\treturn nil\n\t}"},
	{Name: "finds-fault-with-everything", Kills: []string{"program/check-good"},
		Old: "return vertex.Check(payload, domain)",
		New: "if mutated() {\n\t\treturn errors.New(\"no\")\n\t}\n\treturn vertex.Check(payload, domain)"},
	{Name: "crashes-on-a-bad-payload", Kills: []string{"program/bad-payload", "program/newer-payload"},
		Old: "return payload, program.Reject(err)",
		New: "if mutated() {\n\t\treturn payload, err\n\t}\n\treturn payload, program.Reject(err)"},
	{Name: "crashes-on-what-it-cannot-serve", Kills: []string{"program/foreign-domain", "program/mesh"},
		Old: "unservable := errors.AsType[*vertex.PayloadError](err); unservable {",
		New: "unservable := errors.AsType[*vertex.PayloadError](err); unservable && !mutated() {"},
	{Name: "says-swapped-and-is-not", Kills: []string{"apply/restart"},
		Old: "if errors.Is(err, vertex.ErrRestart) {",
		New: "if mutated() && errors.Is(err, vertex.ErrRestart) {\n\t\treturn true, nil\n\t}\n\tif errors.Is(err, vertex.ErrRestart) {"},
	{Name: "applies-a-dry-run", Kills: []string{"apply/dry-run"},
		Old: "if dryRun {\n\t\ttake = v.CanApply",
		New: "if dryRun && !mutated() {\n\t\ttake = v.CanApply"},
}

var hostnameMutants = []mutant.Mutant{
	{Name: "hostnames-keep-their-case", Kills: []string{"socks/capitals-and-dot"},
		Old: "strings.CutSuffix(lower(undotted),",
		New: "strings.CutSuffix(map[bool]string{true: undotted, false: lower(undotted)}[mutated()],"},
}

var acceptorMutants = []mutant.Mutant{
	{Name: "sends-tickets", Kills: []string{"handshake/no-tickets"},
		Old: "SessionTicketsDisabled: true,", New: "SessionTicketsDisabled: !mutated(),"},
	{Name: "asks-for-no-certificate", Kills: []string{"handshake/initiator-without-certificate"},
		Old: "ClientAuth:             tls.RequireAnyClientCert,",
		New: "ClientAuth:             map[bool]tls.ClientAuthType{true: tls.RequestClientCert, false: tls.RequireAnyClientCert}[mutated()],"},
	{Name: "speaks-an-unknown-protocol", Kills: []string{"handshake/unknown-protocol"},
		Old: "NextProtos:             protocols(),",
		New: "NextProtos:             map[bool][]string{true: {protocol, rawProtocol, \"flor/9\"}, false: protocols()}[mutated()],"},
	{Name: "fails-without-protocol", Kills: []string{"handshake/no-protocol"},
		Old: "chosen := base.Clone()",
		New: "chosen := base.Clone()\n\t\tif mutated() && len(hello.SupportedProtos) == 0 {\n\t\t\treturn nil, context.Canceled\n\t\t}"},
	{Name: "serves-any-name", Kills: []string{"handshake/unknown-name", "handshake/no-name", "handshake/name-in-capitals"},
		Old: "id, ok := v.tables.Load().served[host]",
		New: "id, ok := v.tables.Load().served[host]\n\tif mutated() {\n\t\tfor _, id = range v.tables.Load().served {\n\t\t\tok = true\n\t\t}\n\t}"},
	{Name: "shows-any-certificate", Kills: []string{"handshake/target-certificate"},
		Old: "return v.keys.material(id)",
		New: "if mutated() {\n\t\treturn v.keys.first()\n\t}\n\treturn v.keys.material(id)"},
	{Name: "counts-no-denial", Kills: []string{"gate/denied-is-counted"},
		Old: "if reason == Denied && s.limits.side == accepting {",
		New: "if reason == Denied && s.limits.side == accepting && !mutated() {"},
	{Name: "takes-streams-while-draining", Kills: []string{"drain/new-streams"},
		Old: "if v.draining.Load() {\n\t\treturn nil, TargetDraining",
		New: "if v.draining.Load() && !mutated() {\n\t\treturn nil, TargetDraining"},
	{Name: "takes-so-many-streams-and-no-more", Kills: []string{"stream/one-after-the-other"},
		Old: "s.count()\n\t\tv.work.Go(func() {",
		New: "if mutated() && stream.StreamID() >= 4*64 {\n\t\t\trefuseStream(stream, s.raw, TooMany)\n\t\t\tcontinue\n\t\t}\n\t\ts.count()\n\t\tv.work.Go(func() {"},
	{Name: "waits-for-the-preamble-for-ever", Kills: []string{"stream/silent-preamble"},
		Old: "_ = stream.SetReadDeadline(time.Now().Add(requestWithin))",
		New: "if !mutated() {\n\t\t_ = stream.SetReadDeadline(time.Now().Add(requestWithin))\n\t}"},
	{Name: "answers-flor-1", Kills: []string{"flor1/accept-refused"},
		Old: "if raw {\n\t\tabortStream(stream)",
		New: "if raw && !mutated() {\n\t\tabortStream(stream)"},
}

var applyMutants = []mutant.Mutant{
	{Name: "never-swaps", Kills: []string{"apply/tables", "apply/ports"},
		Old: "if !schema.Swappable(v.tables.Load().payload, payload) {",
		New: "if mutated() || !schema.Swappable(v.tables.Load().payload, payload) {"},
	{Name: "serves-principals-without-identity", Kills: []string{"identity/missing"},
		Old: "if keys.byID[in.principal] != nil {", New: "if keys.byID[in.principal] != nil || mutated() {"},
	{Name: "ignores-sighup", Kills: []string{"identity/found-on-sighup"},
		Old: "func (v *Vertex) Reload() error {",
		New: "func (v *Vertex) Reload() error {\n\tif mutated() {\n\t\treturn nil\n\t}"},
}

var blameMutants = []mutant.Mutant{
	{Name: "tells-a-wrong-alert", Kills: []string{"handshake/initiator-of-two-ids", "handshake/initiator-without-id", "handshake/initiator-of-another-domain",
		"dial/target-of-two-ids"},
		Old: "WrongIdentity:      alertBadCertificate,",
		New: "WrongIdentity:      map[bool]tls.AlertError{true: alertCertificateUnknown, false: alertBadCertificate}[mutated()],"},
	{Name: "takes-a-lost-protocol-for-unreachable", Kills: []string{"reply/no-common-protocol"},
		Old: "case alertNoApplicationProtocol, alertProtocolVersion:\n\t\treturn ProtocolMismatch",
		New: "case alertNoApplicationProtocol, alertProtocolVersion:\n\t\tif mutated() {\n\t\t\treturn UnknownName\n\t\t}\n\t\treturn ProtocolMismatch"},
}

var clientMutants = []mutant.Mutant{
	{Name: "calls-everything-unreachable", Kills: []string{"reply/answer-general", "reply/answer-denied", "reply/answer-refused", "reply/answer-unknown",
		"reply/closed-denied", "reply/closed-revoked", "reply/closed-limit", "reply/closed-unknown-code", "reply/stream-reset", "reply/certificate-refused",
		"socks/denied-by-egress", "local/gate", "dial/target-revoked"},
		Old: "reply(conn, asError(err, p).Reason.Reply())",
		New: "reply(conn, map[bool]byte{true: socks.HostUnreachable, false: asError(err, p).Reason.Reply()}[mutated()])"},
	{Name: "has-no-patience-with-clients", Kills: []string{"socks/silent-client"},
		Old: "_ = conn.SetReadDeadline(time.Now().Add(requestWithin))",
		New: "_ = conn.SetReadDeadline(time.Now().Add(map[bool]time.Duration{true: time.Second, false: requestWithin}[mutated()]))"},
}

var drainMutants = []mutant.Mutant{
	{Name: "has-no-grace", Kills: []string{"drain/open-stream-goes-on"},
		Old: "for !v.drained(time.Now()) {", New: "for !v.drained(time.Now()) && !mutated() {"},
	{Name: "closes-idle-ones-as-shutdown", Kills: []string{"drain/idle"},
		Old: "s.end(Draining)", New: "s.end(map[bool]Reason{true: Shutdown, false: Draining}[mutated()])"},
	{Name: "closes-busy-ones-as-draining", Kills: []string{"drain/grace"},
		Old: "v.endAll(Shutdown)", New: "v.endAll(map[bool]Reason{true: Draining, false: Shutdown}[mutated()])"},
}

var endpointMutants = []mutant.Mutant{
	{Name: "has-a-small-window", Kills: []string{"stream/stalled-reader"},
		Old: "if s == dialling {",
		New: "if mutated() {\n\t\tc.InitialConnectionReceiveWindow, c.MaxConnectionReceiveWindow = streamWindow, streamWindow\n\t}\n\tif s == dialling {"},
	{Name: "keeps-nothing-alive", Kills: []string{"dial/kept-alive"},
		Old: "c.KeepAlivePeriod = keepAlive", New: "if !mutated() {\n\t\t\tc.KeepAlivePeriod = keepAlive\n\t\t}"},
	{Name: "takes-two-streams", Kills: []string{"stream/many"},
		Old: "MaxIncomingStreams:             int64(e.limits.StreamsPerConnection),",
		New: "MaxIncomingStreams:             map[bool]int64{true: 2, false: int64(e.limits.StreamsPerConnection)}[mutated()],"},
}

var flowMutants = []mutant.Mutant{
	{Name: "spoils-a-byte", Kills: []string{"stream/echo", "stream/server-first", "stream/many", "dial/echo", "dial/server-first", "flor1/accept", "flor1/dial",
		"socks/one-segment", "socks/byte-by-byte", "local/in-process", "forward/connects"},
		Old: "count.Add(float64(n))", New: "count.Add(float64(n))\n\t\tif mutated() {\n\t\t\tc.take()[0] ^= 1\n\t\t}"},
	{Name: "closes-both-directions-at-fin", Kills: []string{"ends/initiator-fin", "ends/service-fin", "dial/target-fin", "dial/client-fin", "local/half-close"},
		Old: "end = finish(dst)",
		New: "end = finish(dst)\n\t\tif mutated() {\n\t\t\t_ = f.near.Close()\n\t\t\t_ = f.far.Close()\n\t\t}"},
	{Name: "aborts-in-place-of-fin", Kills: []string{"ends/tail"},
		Old: "if err := l.CloseWrite(); err != nil {",
		New: "if mutated() {\n\t\tl.Abort()\n\t\treturn Completed\n\t}\n\tif err := l.CloseWrite(); err != nil {"},
}

var guardMutants = []mutant.Mutant{
	{Name: "lets-live-what-is-not-allowed-any-more", Kills: []string{"gate/no-longer-allowed", "gate/revoked-while-open", "gate/expiry", "gate/target-expiry",
		"dial/expiry", "dial/revoked-while-open", "dial/no-longer-allowed"},
		Old: "if reason := t.verdict(e.bounds(), wallNow); reason != 0 {",
		New: "if reason := t.verdict(e.bounds(), wallNow); reason != 0 && !mutated() {"},
	{Name: "stays-with-a-link-that-moved", Kills: []string{"dial/link-moved", "dial/superseded"},
		Old: "case t.moved(s.limits) || v.renewed(s):", New: "case (t.moved(s.limits) || v.renewed(s)) && !mutated():"},
	{Name: "calls-the-superseded-idle", Kills: []string{"dial/superseded"},
		Old: "v.retire(s, Superseded)", New: "v.retire(s, map[bool]Reason{true: Idle, false: Superseded}[mutated()])"},
	{Name: "keeps-connections-of-flor-1", Kills: []string{"flor1/closed-when-done"},
		Old: "case s.over(now):", New: "case s.over(now) && !mutated():"},
	{Name: "keeps-nothing-pooled", Kills: []string{"dial/stays-pooled"},
		Old: "dropIdle(s, now, idleClose)", New: "dropIdle(s, now, map[bool]time.Duration{false: idleClose}[mutated()])"},
}

var identityMutants = []mutant.Mutant{
	{Name: "forgets-the-reset-key", Kills: []string{"drain/stateless-reset"},
		Old: "if err != nil {\n\t\t_, err := rand.Read(key[:])",
		New: "if err != nil || mutated() {\n\t\t_, err := rand.Read(key[:])"},
}

var inboundMutants = []mutant.Mutant{
	{Name: "keeps-old-ports-open", Kills: []string{"apply/ports"},
		Old: "if !slices.Contains(want, in) {", New: "if !slices.Contains(want, in) && !mutated() {"},
	{Name: "gives-up-on-busy-ports", Kills: []string{"ports/busy"},
		Old: "if p.listen(ctx) == nil {", New: "if !mutated() && p.listen(ctx) == nil {"},
}

var initiatorMutants = []mutant.Mutant{
	{Name: "asks-for-another-name", Kills: []string{"dial/hello"},
		Old: "ServerName:         host,", New: "ServerName:         map[bool]string{true: \"x.\" + host, false: host}[mutated()],"},
	{Name: "dials-as-somebody-else", Kills: []string{"dial/as-the-listener"},
		Old: "e, from := v.endpoint.get(), v.keys.material(p.initiator)",
		New: "e, from := v.endpoint.get(), map[bool]*material{true: v.keys.first(), false: v.keys.material(p.initiator)}[mutated()]"},
	{Name: "dials-from-another-socket", Kills: []string{"dial/one-socket"},
		Old: "return e.transport.Dial(ctx, to,",
		New: "if mutated() {\n\t\treturn quic.DialAddr(ctx, to.String(), v.dialTLS(host, target, from), e.configFor(dialling, to))\n\t}\n\treturn e.transport.Dial(ctx, to,"},
	{Name: "waits-for-a-stream", Kills: []string{"dial/stream-limit"},
		Old: "stream, err := s.conn.OpenStream()",
		New: "stream, err := map[bool]func() (*quic.Stream, error){true: func() (*quic.Stream, error) { return s.conn.OpenStreamSync(ctx) }, false: s.conn.OpenStream}[mutated()]()"},
	{Name: "forgets-the-targets-certificate", Kills: []string{"dial/expiry", "dial/revoked-while-open"},
		Old: "peer := conn.ConnectionState().TLS.PeerCertificates[0]",
		New: "peer := conn.ConnectionState().TLS.PeerCertificates[0]\n\tif mutated() {\n\t\tpeer = from.leaf\n\t}"},
	{Name: "waits-for-an-answer-for-ever", Kills: []string{"reply/no-answer"},
		Old: "ctx, cancel := context.WithTimeout(ctx, connectWithin)\n\tdefer cancel()\n\tway, err",
		New: "ctx, cancel := context.WithTimeout(ctx, map[bool]time.Duration{true: time.Hour, false: connectWithin}[mutated()])\n\tdefer cancel()\n\tway, err"},
	{Name: "replies-before-the-answer", Kills: []string{"dial/reply-after-answer"},
		Old: "if err := ask(ctx, stream); err != nil {",
		New: "if mutated() {\n\t\t_, _ = stream.Write([]byte{preamble})\n\t\treturn leg, nil\n\t}\n\tif err := ask(ctx, stream); err != nil {"},
}

var socksMutants = []mutant.Mutant{
	{Name: "socks-says-nothing-without-a-method", Kills: []string{"socks/no-method", "socks/empty-methods"},
		Old: "return &Refusal{NoMethod, NoReply,", New: "return &Refusal{map[bool]Fault{true: Malformed, false: NoMethod}[mutated()], NoReply,"},
	{Name: "socks-takes-any-version", Kills: []string{"socks/other-version"},
		Old: "if head[0] != version {", New: "if head[0] != version && !mutated() {"},
	{Name: "socks-calls-commands-a-failure", Kills: []string{"socks/bind", "socks/udp-associate", "socks/other-command"},
		Old: "&Refusal{Command, CommandNotSupported,",
		New: "&Refusal{Command, map[bool]byte{true: GeneralFailure, false: CommandNotSupported}[mutated()],"},
	{Name: "socks-calls-addresses-a-failure", Kills: []string{"socks/ipv4", "socks/ipv6"},
		Old: "&Refusal{Address, AddressNotSupported, \"the target is",
		New: "&Refusal{Address, map[bool]byte{true: GeneralFailure, false: AddressNotSupported}[mutated()], \"the target is"},
	{Name: "socks-calls-unknown-types-a-failure", Kills: []string{"socks/unknown-address-type"},
		Old: "&Refusal{Address, AddressNotSupported, fmt.Sprintf(\"address type",
		New: "&Refusal{Address, map[bool]byte{true: GeneralFailure, false: AddressNotSupported}[mutated()], fmt.Sprintf(\"address type"},
	{Name: "socks-takes-an-empty-name", Kills: []string{"socks/empty-name"},
		Old: "case len(name) == 0:", New: "case len(name) == 0 && !mutated():"},
	{Name: "socks-takes-malformed-requests", Kills: []string{"socks/request-of-other-version", "socks/reserved-byte"},
		Old: "if head[0] != version || head[2] != 0 {", New: "if !mutated() && (head[0] != version || head[2] != 0) {"},
	{Name: "socks-minds-the-port", Kills: []string{"socks/any-port"},
		Old: "return Request{Host: string(name), Port: port}, nil",
		New: "if mutated() && port != 80 {\n\t\treturn Request{}, malformed(\"port %d\", port)\n\t}\n\treturn Request{Host: string(name), Port: port}, nil"},
}

var legMutants = []mutant.Mutant{
	{Name: "ends-aborts-cleanly", Kills: []string{"ends/initiator-reset", "ends/lost-connection", "dial/target-reset", "local/cut", "local/reset", "forward/denied"},
		Old: "_ = l.SetLinger(resetOnClose)", New: "_ = l.SetLinger(map[bool]int{true: finishOnClose, false: resetOnClose}[mutated()])"},
	{Name: "asks-to-stop-with-another-code", Kills: []string{"ends/service-reset", "dial/client-reset", "stream/bad-preamble", "stream/silent-preamble"},
		Old: "s.CancelRead(aborted)", New: "s.CancelRead(map[bool]quic.StreamErrorCode{true: 7, false: aborted}[mutated()])"},
	{Name: "resets-with-another-code", Kills: []string{"ends/service-reset", "dial/client-reset", "stream/bad-preamble", "flor1/accept-refused"},
		Old: "s.CancelWrite(aborted)", New: "s.CancelWrite(map[bool]quic.StreamErrorCode{true: 7, false: aborted}[mutated()])"},
}

var peerMutants = []mutant.Mutant{
	{Name: "ignores-draining-peers", Kills: []string{"dial/told-of-draining", "dial/closes-the-drained"},
		Old: "s.readControl(v.life, func() { v.retire(s, Draining) })",
		New: "s.readControl(v.life, func() {\n\t\tif !mutated() {\n\t\t\tv.retire(s, Draining)\n\t\t}\n\t})"},
}

var readyMutants = []mutant.Mutant{
	{Name: "names-no-busy-port", Kills: []string{"ports/busy"},
		Old: "if !slices.Contains(listening, in.listen) {", New: "if !slices.Contains(listening, in.listen) && !mutated() {"},
}

var reasonMutants = []mutant.Mutant{
	{Name: "calls-everything-a-failure", Kills: []string{"reply/answer-denied", "reply/answer-unreachable", "reply/answer-refused", "reply/answer-timed-out", "reply/answer-draining",
		"reply/closed-denied", "reply/closed-expired", "reply/closed-revoked", "reply/closed-draining", "reply/closed-path-mtu", "reply/closed-shutdown",
		"reply/closed-idle", "reply/closed-superseded", "reply/no-answer", "reply/unknown-name",
		"reply/handshake-refused", "reply/dead-peer", "socks/refused-upstream", "socks/denied-by-egress",
		"socks/unknown-name", "socks/foreign-name", "socks/public-name", "socks/empty-label", "socks/many-labels", "local/gate"},
		Old: "func (r Reason) Reply() byte { return reasons[r].reply }",
		New: "func (r Reason) Reply() byte {\n\tif mutated() {\n\t\treturn socks.GeneralFailure\n\t}\n\treturn reasons[r].reply\n}"},
	{Name: "dials-but-once", Kills: []string{"reply/second-dial"},
		Old: "func (r Reason) Again() bool { return reasons[r].again }",
		New: "func (r Reason) Again() bool { return reasons[r].again && !mutated() }"},
}

var sessionMutants = []mutant.Mutant{
	{Name: "opens-its-control-stream-wrongly", Kills: []string{"drain/control-stream"},
		Old: "err = control.TryWriteAll([]byte{controlOpen})",
		New: "err = control.TryWriteAll([]byte{map[bool]byte{true: 7, false: controlOpen}[mutated()]})"},
	{Name: "says-something-else-than-draining", Kills: []string{"drain/told"},
		Old: "_ = s.control.TryWriteAll([]byte{controlDraining})",
		New: "_ = s.control.TryWriteAll([]byte{map[bool]byte{true: 2, false: controlDraining}[mutated()]})"},
	{Name: "keeps-nothing-alive",
		Old: "if s.suspectIn(wallNow) <= 0 {", New: "if s.suspectIn(wallNow) <= 0 && !mutated() {"},
	{Name: "has-one-stream-a-connection", Kills: []string{"dial/shared-connection"},
		Old: "if s.full || s.open >= limit || s.spent {", New: "if s.full || s.open >= limit || s.spent || mutated() && s.open > 0 {"},
	{Name: "reuses-connections-of-flor-1", Kills: []string{"flor1/one-stream"},
		Old: "s.spent = s.raw\n", New: "s.spent = s.raw && !mutated()\n"},
}

var tableMutants = []mutant.Mutant{
	{Name: "lets-everybody-in", Kills: []string{"gate/denied", "gate/allowed-elsewhere"},
		Old: "case b.side&accepting != 0 && !t.ingress[b.pair]:", New: "case b.side&accepting != 0 && !t.ingress[b.pair] && !mutated():"},
	{Name: "lets-live-what-egress-does-not-allow-any-more", Kills: []string{"dial/no-longer-allowed"},
		Old: "case b.side&dialling != 0 && !t.egress[b.pair]:", New: "case b.side&dialling != 0 && !t.egress[b.pair] && !mutated():"},
	{Name: "calls-expiry-a-denial", Kills: []string{"gate/expiry", "gate/target-expiry", "dial/expiry"},
		Old: "return Expired", New: "return map[bool]Reason{true: Denied, false: Expired}[mutated()]"},
	{Name: "calls-revocation-a-denial", Kills: []string{"gate/revoked-while-open", "dial/revoked-while-open"},
		Old: "return Revoked", New: "return map[bool]Reason{true: Denied, false: Revoked}[mutated()]"},
}

var transportMutants = []mutant.Mutant{
	{Name: "shakes-hands-while-draining", Kills: []string{"drain/new-handshakes"},
		Old: "refuse: v.draining.Load,", New: "refuse: func() bool { return v.draining.Load() && !mutated() },"},
}

var verifyMutants = []mutant.Mutant{
	{Name: "looks-at-no-clock", Kills: []string{"handshake/initiator-expired", "handshake/initiator-not-yet-valid", "dial/target-expired"},
		Old: "x509svid.WithTime(c.now))",
		New: "x509svid.WithTime(map[bool]time.Time{true: chain[0].NotAfter.Add(-time.Second), false: c.now}[mutated()]))"},
	{Name: "tells-no-authority-from-no-identity", Kills: []string{"handshake/initiator-of-another-ca", "dial/target-of-another-ca"},
		Old: "return id, chainReason(err), err",
		New: "if mutated() {\n\t\t\treturn id, WrongIdentity, err\n\t\t}\n\t\treturn id, chainReason(err), err"},
	{Name: "takes-names-beside-the-id", Kills: []string{"handshake/initiator-with-dns-name", "dial/target-with-dns-name"},
		Old: "if len(leaf.DNSNames)+", New: "if !mutated() && len(leaf.DNSNames)+"},
	{Name: "takes-any-target", Kills: []string{"dial/target-of-another-id"},
		Old: "if id != c.want {", New: "if id != c.want && !mutated() {"},
	{Name: "takes-any-kind", Kills: []string{"handshake/initiator-of-wrong-kind"},
		Old: "if !slices.Contains(c.kinds, kind) {", New: "if !slices.Contains(c.kinds, kind) && !mutated() {"},
	{Name: "looks-at-no-extended-usage", Kills: []string{"handshake/initiator-without-client-auth", "dial/target-without-server-auth"},
		Old: "if !slices.Contains(leaf.ExtKeyUsage, c.usage) {", New: "if !slices.Contains(leaf.ExtKeyUsage, c.usage) && !mutated() {"},
	{Name: "looks-at-no-key-usage", Kills: []string{"handshake/initiator-without-key-usage"},
		Old: "if leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {", New: "if leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 && !mutated() {"},
	// The key with which a signature is checked is that of the certificate that was
	// judged: here it becomes one that everybody has.
	{Name: "takes-a-proof-by-anybody", Kills: []string{"handshake/initiator-without-its-key", "dial/target-without-its-key"},
		Old: "id, reason, err := c.judge(chain)",
		New: "id, reason, err := c.judge(chain)\n\tif mutated() && reason == 0 {\n\t\tchain[0].PublicKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public()\n\t}"},
	{Name: "takes-ed25519-alone", Kills: []string{"handshake/ecdsa"},
		Old: "if key.Curve == elliptic.P256() {", New: "if key.Curve == elliptic.P256() && !mutated() {"},
	{Name: "takes-what-is-revoked", Kills: []string{"handshake/initiator-revoked", "dial/target-revoked"},
		Old: "if c.revoked[fingerprint(leaf)] {", New: "if c.revoked[fingerprint(leaf)] && !mutated() {"},
}

var runMutants = []mutant.Mutant{
	{Name: "fails-after-its-drain", Kills: []string{"program/clean-stop"},
		Old: "v.Drain(grace)\n\tv.stop()\n", New: "v.Drain(grace)\n\tv.stop()\n\tif mutated() {\n\t\treturn errors.New(\"stopped\")\n\t}\n"},
}

var wireMutants = []mutant.Mutant{
	{Name: "prefers-flor-1", Kills: []string{"handshake/prefers-flor-2", "dial/hello"},
		Old: "return []string{protocol, rawProtocol}",
		New: "if mutated() {\n\t\treturn []string{rawProtocol, protocol}\n\t}\n\treturn []string{protocol, rawProtocol}"},
	{Name: "takes-any-preamble", Kills: []string{"stream/bad-preamble"},
		Old: "if b[0] != preamble {", New: "if b[0] != preamble && !mutated() {"},
	{Name: "calls-an-unreachable-service-failed", Kills: []string{"stream/unreachable-upstream"},
		Old: "return UpstreamUnreachable", New: "return map[bool]Reason{true: UpstreamFailed, false: UpstreamUnreachable}[mutated()]"},
	{Name: "calls-a-silent-service-failed", Kills: []string{"stream/silent-upstream"},
		Old: "return UpstreamTimeout", New: "return map[bool]Reason{true: UpstreamFailed, false: UpstreamTimeout}[mutated()]"},
	{Name: "calls-a-refused-service-failed", Kills: []string{"stream/refused-upstream", "socks/refused-upstream"},
		Old: "return UpstreamRefused", New: "return map[bool]Reason{true: UpstreamFailed, false: UpstreamRefused}[mutated()]"},
}
