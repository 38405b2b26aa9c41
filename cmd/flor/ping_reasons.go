package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// failure is at which step a connection failed, and how.
type failure struct {
	at      string // empty: cannot be told
	verdict verdict
	code    string
	found   string
	do      string
}

// What a person can do, where several reasons call for the same.
const (
	askOperator  = "your operator can tell why: retectl access --why; if access was just granted: flor agent sync, here and there"
	enrolAgain   = "the certificates of the two nodes do not fit: have the one that is wrong issued again (retectl issue-bundle, flor enroll), and compare both clocks"
	lookThere    = "look at the node of the service: flor agent status, and its log"
	tryAgain     = "try again in a moment"
	checkPath    = "is that node up, and does its firewall let UDP through to this address?"
	checkService = "start the service on its node, or correct its upstream in the YAML"
)

// pingReasons are the reasons for which a vertex turns a request down (VTX-4,
// VTX-6), by the step at which it then was.
var pingReasons = map[string]failure{
	"denied-egress":  {stepCaller, refused, "FL4101", "this node's own list does not allow it; the vertex runs on another set than was read", askOperator},
	"unknown-target": {stepName, refused, "FL4103", "the vertex knows no such name; it runs on another set than was read", "flor agent status tells the sets"},
	"no-link":        {stepName, refused, "FL4104", "the vertex has no link there; it runs on another set than was read", "flor agent status tells the sets"},

	"no-transport":      {stepLink, failed, "FL4114", "this vertex has no UDP socket", "flor agent status tells what it waits for"},
	"vertex-stopping":   {stepLink, failed, "FL4115", "this vertex is stopping", tryAgain},
	"handshake-timeout": {stepLink, failed, "FL4009", "nothing answers there", checkPath},
	"peer-lost":         {stepLink, failed, "FL4306", "nothing is heard from the peer's vertex any more", checkPath},
	"transport-failed":  {stepLink, failed, "FL4308", "the connection to the peer's vertex broke on this side", tryAgain},
	"path-mtu":          {stepLink, failed, "FL4324", "the path does not carry packets of the size that it did", tryAgain},
	"peer-path-mtu":     {stepLink, failed, "FL4344", "the path does not carry packets of the size that it did", tryAgain},

	"peer-restarted":        {stepHandshake, failed, "FL4307", "the peer's vertex does not know the connection any more: it was restarted, or gave it up", tryAgain},
	"peer-transport-failed": {stepHandshake, failed, "FL4309", "the connection broke on the peer's side", lookThere},
	"handshake-refused":     {stepHandshake, failed, "FL4010", "the peer takes no new connections now", lookThere},
	"handshake-failed":      {stepHandshake, failed, "FL4011", "the handshake failed", lookThere},
	"protocol-mismatch":     {stepHandshake, failed, "FL4008", "the two vertices have no protocol in common", "bring both nodes to one version of flor"},
	"no-identity":           {stepHandshake, failed, "FL4012", "this node has no usable certificate for the caller", enrolAgain},
	"wrong-authority":       {stepHandshake, failed, "FL4001", "the peer's certificate is of another CA", enrolAgain},
	"outside-validity":      {stepHandshake, failed, "FL4002", "the peer's certificate is expired or not yet valid", enrolAgain},
	"wrong-identity":        {stepHandshake, failed, "FL4003", "the peer's certificate names somebody else", "is there another node at this address now? compare the YAML"},
	"wrong-usage":           {stepHandshake, failed, "FL4004", "the peer's certificate is not for this use", enrolAgain},
	"unknown-name":          {stepHandshake, failed, "FL4006", "the vertex there does not serve this name", "its node may not have the newest set yet: flor agent sync there"},
	"certificate-revoked":   {stepHandshake, refused, "FL4005", "the peer's certificate is revoked", enrolAgain},
	"certificate-refused":   {stepHandshake, refused, "FL4007", "the peer does not accept the caller's certificate", enrolAgain},

	"denied-ingress":  {stepGate, refused, "FL4102", "the target's list does not allow the caller", askOperator},
	"denied":          {stepGate, refused, "FL4320", "the pair is not allowed any more", askOperator},
	"peer-denied":     {stepGate, refused, "FL4340", "the target's list does not allow the caller, or not any more", askOperator},
	"revoked":         {stepGate, refused, "FL4322", "one of the two certificates is revoked", enrolAgain},
	"peer-revoked":    {stepGate, refused, "FL4342", "the target says that one of the two certificates is revoked", enrolAgain},
	"expired":         {stepGate, failed, "FL4321", "one of the two certificates is expired", enrolAgain},
	"peer-expired":    {stepGate, failed, "FL4341", "the target says that one of the two certificates is expired", enrolAgain},
	"over-limit":      {stepGate, failed, "FL4328", "a limit on connections is reached here", tryAgain},
	"peer-over-limit": {stepGate, failed, "FL4348", "a limit on connections is reached at the target", tryAgain},
	"too-many":        {stepGate, failed, "FL4113", "a limit on connections or streams is reached", tryAgain},
	"no-answer":       {stepGate, failed, "FL4110", "the target's vertex took the request and did not answer", lookThere},
	"bad-answer":      {stepGate, failed, "FL4111", "the target's vertex broke the protocol", lookThere},

	"target-draining":   {stepGate, failed, "FL4109", "the target's vertex is stopping", tryAgain},
	"draining":          {stepGate, failed, "FL4323", "this vertex is stopping", tryAgain},
	"peer-draining":     {stepGate, failed, "FL4343", "the target's vertex is stopping", tryAgain},
	"shutdown":          {stepGate, failed, "FL4327", "this vertex has stopped", tryAgain},
	"peer-shutdown":     {stepGate, failed, "FL4347", "the target's vertex has stopped", tryAgain},
	"idle":              {stepGate, failed, "FL4325", "the connection was given up as idle", tryAgain},
	"peer-idle":         {stepGate, failed, "FL4345", "the connection was given up as idle", tryAgain},
	"superseded":        {stepGate, failed, "FL4326", "a newer connection took its place", tryAgain},
	"peer-superseded":   {stepGate, failed, "FL4346", "a newer connection took its place", tryAgain},
	"peer-unknown-code": {stepGate, failed, "FL4349", "the target closed the connection for a reason that this version does not know", lookThere},

	"upstream-failed":      {stepUpstream, failed, "FL4105", "the target's vertex could not connect to the service", checkService},
	"upstream-unreachable": {stepUpstream, failed, "FL4106", "the service's address is unreachable from its node", checkService},
	"upstream-refused":     {stepUpstream, failed, "FL4107", "nothing listens at the service's address", checkService},
	"upstream-timeout":     {stepUpstream, failed, "FL4108", "the service does not accept connections", checkService},
}

// replies are what the one byte of a SOCKS5 reply says by itself (VTX-4).
var replies = map[byte]failure{
	1: {"", failed, "", "it failed, and the vertex does not tell its client more", lookThere},
	2: {stepGate, refused, "", "it is not allowed: by the target's list, or because a certificate is revoked; which, cannot be told from here", askOperator},
	4: {"", unknown, "", "the service is not reached: the path, its vertex or the service itself; which, cannot be told from here", checkPath},
	5: {stepUpstream, failed, "FL4107", "nothing listens at the service's address", checkService},
}

// failureOf tells as much of a refused request as reply and counters prove: the
// vertex's reason, if exactly one was counted meanwhile and it was ours, else the
// reply alone.
func failureOf(reply byte, why map[string]float64) failure {
	if len(why) == 1 {
		for reason, times := range why {
			if known, ok := pingReasons[reason]; ok && times == 1 {
				return known
			}
		}
	}
	if known, ok := replies[reply]; ok {
		return known
	}
	return failure{"", unknown, "", fmt.Sprintf("the vertex answers with SOCKS5 reply %d", reply), lookThere}
}

// reasonCounts is how many requests for one target failed, by reason.
type reasonCounts map[string]float64

// readCounters asks the agent for them; none where it does not answer.
func readCounters(ctx context.Context, client served, target string) reasonCounts {
	var page []byte
	err := client.soon(ctx, func(ctx context.Context) (err error) {
		page, err = client.Metrics(ctx)
		return err
	})
	if err != nil {
		return nil
	}
	return parseCounters(page, target)
}

const connectFailures = "flor_vertex_connect_failures_total"

// parseCounters picks the failures of one target, or of a name that the vertex
// does not know, from a page of counters.
func parseCounters(page []byte, target string) reasonCounts {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		return nil
	}
	counts := reasonCounts{}
	for _, m := range families[connectFailures].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if labels["target"] == target || labels["target"] == "" {
			counts[labels["reason"]] += m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return counts
}

// since is what was counted after before was read.
func (c reasonCounts) since(before reasonCounts) map[string]float64 {
	more := map[string]float64{}
	for reason, n := range c {
		if n > before[reason] {
			more[reason] = n - before[reason]
		}
	}
	return more
}
