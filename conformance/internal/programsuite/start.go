package programsuite

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/florete/flor/conformance/internal/host"
)

// startCases are about what a program finds at its start, and leaves.
func startCases() []Case {
	return []Case{
		{"start/serves", "on a good artifact it serves until it is told to stop", "SUP-3 SUP-6", checkServes},
		{"start/ctrl-artifact", "an artifact of plane ctrl beside its own does not keep it from serving", "SUP-1", checkCtrlArtifact},
		{"start/paths-with-spaces", "the paths it is given may hold spaces and other signs", "SUP-1", checkPathsWithSpaces},
		{"start/writes-to-its-state-alone", "it writes into its own directory and nowhere else", "SUP-1 SUP-2", checkWritesToItsStateAlone},
		{"start/after-a-stop", "it starts again on what it has left behind", "SUP-4", checkStartsAfterAStop},
		{"start/after-a-kill", "it starts again after SIGKILL, whatever lies around", "SUP-3 SUP-4 SUP-11", checkStartsAfterAKill},
		{"start/at-the-next-version", "it starts on a newer artifact with its state of the older one", "SUP-4", checkStartsAtTheNextVersion},
	}
}

func checkServes(h *host.Host) { h.Serve() }

func checkCtrlArtifact(h *host.Host) {
	h.Vars["FLORWL_CTRL_ARTIFACT"] = h.WriteArtifact(2, h.Artifact(2, h.Payload))
	h.Serve()
}

// checkPathsWithSpaces moves everything the program is told of to paths that a
// careless program takes apart.
func checkPathsWithSpaces(h *host.Host) {
	dir := h.Mkdir("a b=c;$d 'e' é")
	move := func(variable, name string) {
		to := filepath.Join(dir, name)
		h.Check(os.Rename(h.Vars[variable], to), "move what "+variable+" names")
		h.Vars[variable] = to
	}
	move("FLORWL_STATE_DIR", "s t")
	move("FLORWL_MGMT_ARTIFACT", "m a.json")
	h.Vars["FLORWL_CONTROL_SOCKET"] = filepath.Join(dir, "c s")
	h.Stop(h.Serve())
}

// checkWritesToItsStateAlone looks at every directory that the program may find
// by what it was told.
func checkWritesToItsStateAlone(h *host.Host) {
	socket := h.Socket()
	cwd, err := filepath.Rel(h.Dir, h.Mkdir("cwd"))
	h.Check(err, "name the working directory")
	before := tree(h)
	h.Stop(h.Serve())
	state, err := filepath.Rel(h.Dir, h.State())
	h.Check(err, "name the state directory")
	for path, mode := range tree(h) {
		_, old := before[path]
		inState := path == state || strings.HasPrefix(path, state+"/")
		if !old && !inState && filepath.Join(h.Dir, path) != socket {
			h.Fatalf("it made %s (%s): what it keeps belongs into FLORWL_STATE_DIR, and nothing into its working directory %s or elsewhere", path, mode, cwd)
		}
	}
	for path := range before {
		if _, left := tree(h)[path]; !left {
			h.Fatalf("it removed %s, which is not its own", path)
		}
	}
}

// tree lists what is below the host's directory, with modes.
func tree(h *host.Host) map[string]fs.FileMode {
	found := map[string]fs.FileMode{}
	err := filepath.WalkDir(h.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(h.Dir, path)
		found[name] = entry.Type()
		return err
	})
	h.Check(err, "look at the directories")
	return found
}

func checkStartsAfterAStop(h *host.Host) {
	h.Stop(h.Serve())
	h.Stop(h.Serve())
}

func checkStartsAfterAKill(h *host.Host) {
	p := h.Serve()
	served := h.HasChannel()
	p.Signal(syscall.SIGKILL)
	p.Ending()
	h.Serve()
	if served && !h.HasChannel() {
		h.Fatalf("after SIGKILL and a new start it serves no control channel: the socket file of the process before is still there; remove it and listen")
	}
}

func checkStartsAtTheNextVersion(h *host.Host) {
	h.Stop(h.Serve())
	h.Vars["FLORWL_MGMT_ARTIFACT"] = h.WriteArtifact(2, h.Artifact(2, h.Payload))
	h.Stop(h.Serve())
}
