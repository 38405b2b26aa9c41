package main

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

// TestKillTheAgentInACheck kills an agent while a program judges the artifact of a
// workload that is new. Once its successor runs, that program and what it has left
// do not (SUP-9).
func TestKillTheAgentInACheck(t *testing.T) {
	t.Parallel()
	t.Run("by subreaper", func(t *testing.T) {
		t.Parallel()
		newKilled(t).killInACheck()
	})
	t.Run("by cgroup", func(t *testing.T) {
		t.Parallel()
		unenrolled(t).into(delegatedGroup(t)).enrolled().killInACheck()
	})
}

func (k *killed) killInACheck() {
	k.t.Helper()
	k.start()
	k.healthy()
	k.from.publish(2, document(k.withAnother(2)))
	judging := func() bool {
		running := k.running()
		isLeft := func(p scoped) bool { return p.judges && !isCheck(p.pid) }
		isJudge := func(p scoped) bool { return p.judges && isCheck(p.pid) }
		return slices.ContainsFunc(running, isLeft) && slices.ContainsFunc(running, isJudge)
	}
	for deadline := time.Now().Add(patience); !judging(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.t.Fatal("not seen: a program that judges, and what it leaves")
		}
	}
	k.kill()
	if k.checks == 0 {
		k.t.Fatal("nothing judged when the agent was killed: nothing is tested")
	}
	k.from.publish(3, document(k.set(3)))
	k.start()
	k.healthy()
	k.stop()
}

// withAnother has one workload more, whose check takes its time.
func (k *killed) withAnother(version uint64) [][]byte {
	agent := k.rete.authority.AgentPayload("alpha", envelopetest.Block(k.rete.signer), "flor", "app", "new")
	agent.Workloads[0].Run, agent.Workloads[1].Run, agent.Workloads[2].Run = []string{"flor-vertex"}, []string{"writer"}, []string{"flor-vertex"}
	agent.Inbounds[0].Via.Addr = k.from.addr
	vertex := k.rete.vertex("1.0")
	vertex.Links[0].Members[0].Name = dawdles
	texts := k.set(version)
	texts[0] = k.rete.signer.Sign("alpha", envelope.AgentName, version, agent)
	return append(texts, k.rete.signer.Sign("alpha", "new", version, vertex))
}

// isCheck tells a program that was run to judge an artifact.
func isCheck(pid int) bool { return bytes.Contains(commandLine(pid), []byte("\x00--check\x00")) }
