package schema_test

import (
	"fmt"
	"time"

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
	// FL1205 wrong-node: alpha/mgmt/agent: the set is for node beta
}

func ExampleVertex_Validate() {
	v := &schema.Vertex{SchemaVersion: "1.0", Kind: schema.LinkVertex}
	fmt.Println(v.Validate())
	// Output:
	// vertex payload: FL1303 missing: transport_endpoint.type: is required
	// vertex payload: FL1319 udp-adapters: connection_manager.adapters: a link vertex must have exactly one udp adapter, not 0
}
