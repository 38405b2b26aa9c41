package envelope_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

// A compiler signs artifacts; somebody relays them without understanding them;
// a node that trusts the signer verifies them.
func Example() {
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	text, err := envelope.Sign(envelope.Draft{
		Plane:       envelope.Mgmt,
		Version:     42,
		Node:        "alpha",
		Name:        "wire",
		GeneratedAt: time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC),
		Payload:     map[string]string{"schema_version": "1.0"},
	}, primary.ID, primary.Key)
	if err != nil {
		fmt.Println(err)
		return
	}

	members, err := envelope.ParseSet(envelope.AppendSet(nil, text))
	if err != nil {
		fmt.Println(err)
		return
	}
	core, err := envelope.Probe(members[0])
	fmt.Println(core.Ref(), core.Version, err)

	trust, err := ca.Anchor().TrustSet(envelopetest.Block(primary))
	if err != nil {
		fmt.Println(err)
		return
	}
	verified, err := trust.Verify(members[0])
	fmt.Println(string(verified.CanonicalPayload()), verified.KeyID(), err)
	// Output:
	// alpha/mgmt/wire 42 <nil>
	// {"schema_version":"1.0"} spiffe://rete-lovers/management-plane/primary <nil>
}

func ExampleRefusal() {
	_, err := envelope.Parse([]byte(`{"schema_version":"1.1","plane":"mesh"}`))
	if refusal := new(envelope.Refusal); errors.As(err, &refusal) {
		fmt.Println(refusal.Code(), refusal.Reason)
	}
	fmt.Println(err)
	// Output:
	// FL1017 schema-too-new
	// FL1017 schema-too-new: the artifact has schema_version 1.1, this program reads up to 1.0: upgrade this program
}
