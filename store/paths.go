package store

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/florete/flor/envelope"
)

// Names below a scope root.
const (
	identityDir  = "identity"
	mgmtDir      = "artifacts/mgmt"
	ctrlDir      = "artifacts/ctrl"
	setsDir      = mgmtDir + "/sets"
	currentFile  = mgmtDir + "/current"
	agentDir     = "agent"
	stateFile    = agentDir + "/state.json"
	workloadsDir = "workloads"
)

// Modes below a scope root. All of it belongs to one account and concerns
// nobody else.
const (
	dirPerm  fs.FileMode = 0o700
	filePerm fs.FileMode = 0o600
)

// maxCurrent bounds the file current, which holds one short line.
const maxCurrent = 64

// setName is the directory of a set: v42.
func setName(version uint64) string { return "v" + strconv.FormatUint(version, 10) }

func setDir(version uint64) string { return path.Join(setsDir, setName(version)) }

func artifactFile(name string) string { return name + ".json" }

// parseSetName is the inverse of setName and accepts no other spelling.
func parseSetName(name string) (uint64, error) {
	digits, ok := strings.CutPrefix(name, "v")
	version, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || version < 1 || version > envelope.MaxVersion || setName(version) != name {
		return 0, fmt.Errorf("%.80q is not the directory of a set", name)
	}
	return version, nil
}

// parseCurrent reads the file current: one line, its newline optional.
func parseCurrent(text []byte) (uint64, error) {
	return parseSetName(strings.TrimSuffix(string(text), "\n"))
}

func formatCurrent(version uint64) []byte { return []byte(setName(version) + "\n") }
