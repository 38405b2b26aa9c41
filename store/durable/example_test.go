package durable_test

import (
	"fmt"
	"os"

	"github.com/florete/flor/store/durable"
)

// A reader of the file finds the old line or the new one, also after a power
// loss in between.
func ExampleReplaceFile() {
	dir, err := os.MkdirTemp("", "durable-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()

	for _, line := range []string{"v41\n", "v42\n"} {
		if err := durable.ReplaceFile(durable.OS(root), "current", []byte(line), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	text, err := root.ReadFile("current")
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// v42
	// <nil>
}
