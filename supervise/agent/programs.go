package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// shipped are the executables that are part of flor. They alone get the
// scope's trees in their environment (SUP-1), and they alone understand
// --check (AGT-4.3).
var shipped = []string{"flor-vertex", "flor-coordinator"}

// ships tells whether an executable named by "run" is part of flor.
func ships(run string) bool { return slices.Contains(shipped, run) }

// executable finds what a workload's "run" names: a file in the lib directory,
// looked up there and nowhere else (SUP-2). The path is returned with the error
// too, since a program that is missing now may be there at the next try.
func executable(lib, run string) (string, error) {
	path := filepath.Join(lib, run)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return path, fmt.Errorf("%s is not in %s: %s, or set FLOR_LIB_DIR to the directory that has it", run, lib, howPlaced(run))
	case err != nil:
		return path, fmt.Errorf("look for %s: %w", run, err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return path, fmt.Errorf("%s is not an executable file", path)
	}
	return path, nil
}

// howPlaced is how an executable comes into the lib directory.
func howPlaced(run string) string {
	if ships(run) {
		return "flor install places it there"
	}
	return "put it there"
}
