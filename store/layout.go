package store

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Mode says for whom flor is installed.
type Mode string

// The two modes of an install.
const (
	User   Mode = "user"   // for one account, below its home
	System Mode = "system" // for the machine, run by a service user
)

// Host is what the directories of an install depend on. [ThisHost] fills it.
type Host struct {
	Getenv     func(string) string // nil: an empty environment
	GOOS       string
	UID        int
	Executable string // of the running program, symbolic links resolved
	TempDir    string
	Mode       Mode // what the receipt of this install says; empty: inferred
}

// ThisHost describes the running process.
func ThisHost() (Host, error) {
	exe, err := os.Executable()
	if err != nil {
		return Host{}, fmt.Errorf("find the running executable: %w", err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		return Host{}, fmt.Errorf("resolve the running executable: %w", err)
	}
	return Host{Getenv: os.Getenv, GOOS: runtime.GOOS, UID: os.Getuid(), Executable: exe, TempDir: os.TempDir()}, nil
}

// ThisLayout is the layout of the install that the running program belongs to.
func ThisLayout() (Layout, error) {
	host, err := ThisHost()
	if err != nil {
		return Layout{}, err
	}
	return Resolve(host)
}

// Layout says where an install keeps what. All paths are absolute.
type Layout struct {
	Mode        Mode
	Bin         string // flor, retectl
	Lib         string // flor-vertex, flor-coordinator
	State       string // retes/<scope> below it
	Config      string
	RuntimeBase string // a directory per scope below it
}

// Resolve computes the layout of an install (design table "Directories"):
// FLOR_LIB_DIR, FLOR_STATE_HOME, FLOR_CONFIG_HOME and FLOR_RUNTIME_DIR override
// their row and must be absolute. A relative XDG variable counts as unset, as
// its specification says. It touches no disk.
func Resolve(h Host) (Layout, error) {
	if h.Getenv == nil {
		h.Getenv = func(string) string { return "" }
	}
	bin := binOf(h.Executable)
	l := Layout{
		Mode: cmp.Or(h.Mode, inferMode(h.GOOS, bin)),
		Bin:  bin,
		Lib:  filepath.Join(filepath.Dir(bin), "lib", "flor"),
	}
	defaults := userDirs(h)
	if l.Mode == System {
		defaults = systemDirs(h.GOOS)
	}
	l.State, l.Config, l.RuntimeBase = defaults.state, defaults.config, defaults.runtime
	if err := l.override(h.Getenv); err != nil {
		return Layout{}, err
	}
	return l, nil
}

// binOf is where flor lies, of whose install this executable is: beside it, or
// for flor's own workloads in the bin directory beside lib.
func binOf(executable string) string {
	dir := filepath.Dir(executable)
	if prefix, ok := strings.CutSuffix(dir, "/lib/flor"); ok {
		return prefix + "/bin"
	}
	return dir
}

// inferMode is what holds where no receipt says otherwise.
func inferMode(goos, bin string) Mode {
	if goos == "linux" && slices.Contains([]string{"/usr/bin", "/usr/local/bin"}, bin) {
		return System
	}
	return User
}

type dirs struct{ state, config, runtime string }

// systemDirs are fixed. darwin has no /run: what a boot clears lies in /var/run.
func systemDirs(goos string) dirs {
	d := dirs{state: "/var/lib/flor", config: "/etc/flor", runtime: "/run/flor"}
	if goos == "darwin" {
		d.runtime = "/var/run/flor"
	}
	return d
}

// userDirs leaves a directory empty that needs a home where HOME is unset; an
// override may still fill it.
func userDirs(h Host) dirs {
	return dirs{
		state:   belowHome(h, "XDG_STATE_HOME", ".local/state"),
		config:  belowHome(h, "XDG_CONFIG_HOME", ".config"),
		runtime: userRuntime(h),
	}
}

func belowHome(h Host, variable, fallback string) string {
	if dir := h.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "flor")
	}
	if home := h.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, fallback, "flor")
	}
	return ""
}

func userRuntime(h Host) string {
	variable := "XDG_RUNTIME_DIR"
	if h.GOOS == "darwin" {
		variable = "TMPDIR"
	}
	if dir := h.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "flor")
	}
	return filepath.Join(h.TempDir, "flor-"+strconv.Itoa(h.UID))
}

func (l *Layout) override(getenv func(string) string) error {
	rows := []struct {
		variable string
		dir      *string
	}{
		{"FLOR_LIB_DIR", &l.Lib},
		{"FLOR_STATE_HOME", &l.State},
		{"FLOR_CONFIG_HOME", &l.Config},
		{"FLOR_RUNTIME_DIR", &l.RuntimeBase},
	}
	for _, row := range rows {
		if dir := getenv(row.variable); dir != "" {
			*row.dir = filepath.Clean(dir)
		}
		if !filepath.IsAbs(*row.dir) {
			return refuse(BadLayout, "", "%q is no absolute path: set %s to one, or HOME", *row.dir, row.variable)
		}
	}
	return nil
}

// RetesDir returns the directory that holds the scope roots.
func (l Layout) RetesDir() string { return retesDir(l.State) }

func retesDir(stateDir string) string { return filepath.Join(stateDir, "retes") }
