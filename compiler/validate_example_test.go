package compiler_test

import (
	"fmt"
	"os"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

// Who reaches what, and why, in the example repository.
func ExampleValidate() {
	src, found := facade.Load(facade.Options{Root: "../examples/my-rete"})
	view, judged := compiler.Validate(src, compiler.ValidateOptions{Now: now, ReadFile: readCertificate})
	if found.Add(judged...); found.HasErrors() {
		diag.Render(os.Stderr, found, src.Texts, false)
		return
	}
	for _, p := range view.Principals() {
		for _, s := range p.Targets() {
			grant := p.Grants(s)[0]
			fmt.Printf("%s -> %s: role %s allows group %s (%s)\n", p.Name, s.Name, grant.Role.Name, grant.Group.Name, grant.Allowed)
		}
	}
	// Output:
	// alice-laptop -> coordinator: role node allows group coordinator-sync (access.yaml:13:13)
	// alpha -> coordinator: role node allows group coordinator-sync (access.yaml:13:13)
	// mgmt01 -> coordinator: role node allows group coordinator-sync (access.yaml:13:13)
	// api -> alpha/ssh: role api-backend allows group admin (access.yaml:20:13)
	// alice -> api: role developer allows group api (access.yaml:18:13)
	// fyodor -> coordinator-publisher: role operator allows group coordinator-publish (access.yaml:15:13)
}
