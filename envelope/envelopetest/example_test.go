package envelopetest_test

import (
	"fmt"
	"time"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

func Example() {
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	stale := ca.Signer("stale", envelopetest.Expired)

	held := ca.Held(envelopetest.Block(primary))
	wire := envelopetest.Member{Name: "wire", Payload: map[string]string{"schema_version": "1.0"}}
	set, err := schema.VerifySet(held, "alpha", ca.Set(primary, "alpha", 42, wire), time.Now())
	fmt.Println(set.Node, set.Version, len(set.Members), err)

	_, err = schema.VerifySet(held, "alpha", ca.Set(stale, "alpha", 43, wire), time.Now())
	fmt.Println(err != nil)
	// Output:
	// alpha 42 2 <nil>
	// true
}
