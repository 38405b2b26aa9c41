package conformance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// anchored returns a command whose program is found from any directory, since
// cases start it in directories of their own: ./my-program is where the caller
// stands now. A name without a slash is looked for along PATH.
func anchored(command []string) ([]string, error) {
	if len(command) == 0 || !strings.ContainsRune(command[0], filepath.Separator) {
		return command, nil
	}
	program, err := filepath.Abs(command[0])
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", command[0], err)
	}
	return append([]string{program}, slices.Clone(command[1:])...), nil
}
