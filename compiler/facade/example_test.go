package facade_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "rete")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	text := "rete: {name: demo}\nnodes:\n  no: {}\n  alpha: {vertixes: []}\n"
	if err := os.WriteFile(filepath.Join(dir, facade.RootFile), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	src, found := facade.Load(facade.Options{Root: dir})
	for _, n := range src.Nodes {
		fmt.Println("node", n.Name.V, "at", n.Name.At)
	}
	diag.Render(os.Stdout, found, src.Texts, false)
	// Output:
	// node no at rete.yaml:3:3
	// node alpha at rete.yaml:4:3
	// rete.yaml:3:3: error FL0109 not-a-name: a name in nodes must be a string, and no is not one in every version of YAML
	//     3 |   no: {}
	//       |   ^^
	//       = quote it: "no"
	// rete.yaml:4:11: error FL0108 unknown-key: "vertixes" is not known in a node (known: vertices, socks5_proxy)
	//     4 |   alpha: {vertixes: []}
	//       |           ^^^^^^^^
	//       = did you mean "vertices"?
	// 2 errors, 0 warnings
}
