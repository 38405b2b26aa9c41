package schema_test

import (
	"fmt"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

// An agent turns the bytes it was given into a set that it may admit.
func ExampleVerifySet() {
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	texts := ca.Set(primary, "alpha", 42, envelopetest.Member{Name: "wire", Payload: map[string]string{"schema_version": "1.0"}})

	held := ca.Held(envelopetest.Block(primary))
	set, err := schema.VerifySet(held, "alpha", texts, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range set.Members {
		fmt.Println(m.Core().Ref(), m.Core().Version)
	}
	held = held.Adopt(set.Trust)
	fmt.Println(len(held.Signers.Keys()), "signer,", len(held.Retired), "retired")

	_, err = schema.VerifySet(held, "beta", texts, time.Now())
	fmt.Println(err)
	// Output:
	// alpha/mgmt/agent 42
	// alpha/mgmt/wire 42
	// 1 signer, 0 retired
	// FL1205 wrong-node: alpha/mgmt/agent: it is for node alpha, and a set of node "beta" is wanted
}

// retectl compiles sets of flor's own programs. A program of the operator's adds a
// workload to the set of a node: a row of the root's inventory, and the workload's
// own artifact, all signed anew at the next version. The agent takes the document
// by "flor agent sync --from FILE", or from the coordinator that it is published
// to; the executable lies in the node's lib directory.
func ExampleWorkload() {
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	compiled := ca.Set(primary, "alpha", 42) // as it lies in .flor/compiled/alpha/mgmt

	var members [][]byte
	for _, text := range compiled {
		a, err := envelope.Parse(text)
		if err != nil {
			panic(err)
		}
		var payload any = a.Payload()
		if a.Name == envelope.AgentName {
			root, err := schema.ParseAgent(a.Payload())
			if err != nil {
				panic(err)
			}
			root.Workloads = append(root.Workloads, schema.Workload{Name: "files", Run: []string{"tenant"}})
			payload = root
		}
		members = append(members, primary.Sign(a.Node, a.Name, 43, payload)) // envelope.Sign with the operator's key
	}
	members = append(members, primary.Sign("alpha", "files", 43, map[string]string{"listen": "127.0.0.1:8000"}))
	document := envelope.AppendSet(nil, members...)

	offered, err := envelope.ParseSet(document)
	if err != nil {
		panic(err)
	}
	set, err := schema.VerifySet(ca.Held(envelopetest.Block(primary)), "alpha", offered, time.Now())
	if err != nil {
		panic(err)
	}
	for _, w := range set.Agent.Workloads {
		artifact, _ := set.Member(w.Name)
		fmt.Println(w.Name, "is run by", w.Run[0], "on", string(artifact.CanonicalPayload()))
	}
	// Output: files is run by tenant on {"listen":"127.0.0.1:8000"}
}

func ExampleVertex_Validate() {
	v := &schema.Vertex{SchemaVersion: "1.0", Kind: schema.LinkVertex}
	fmt.Println(v.Validate())
	// Output:
	// vertex payload: FL1303 missing: transport_endpoint.type: is required
	// vertex payload: FL1319 udp-adapters: connection_manager.adapters: a link vertex must have exactly one udp adapter, not 0
}
