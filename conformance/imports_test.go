package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/florete/flor"

// mayImport is the import table of the house: which packages of this module a
// package may import itself. A row ending in /... stands for a package and all
// below it; in the right column it allows all of them. The most specific row
// counts. Test files are free.
var mayImport = map[string][]string{
	"envelope":                      {},
	"envelope/schema":               {"envelope"},
	"envelope/envelopetest":         {"envelope", "envelope/schema"},
	"store/durable":                 {},
	"store":                         {"envelope", "envelope/schema", "store/durable"},
	"store/identity":                {"envelope/schema", "store/durable"},
	"store/bundle":                  {"envelope", "envelope/schema", "store", "store/identity", "store/durable"},
	"supervise":                     {},
	"supervise/control":             {},
	"supervise/program":             {"envelope"},
	"supervise/program/metrics":     {},
	"supervise/program/rsyslogtest": {},
	"supervise/agent": {"envelope", "envelope/schema", "store", "store/identity", "supervise",
		"supervise/control", "supervise/program", "relay/client"},
	"relay":           {"envelope", "store/durable", "relay/config"},
	"relay/config":    {},
	"relay/client":    {"envelope"},
	"relay/relaytest": {"relay"},
	"vertex":          {"envelope", "envelope/schema"},
	"compiler": {"envelope", "envelope/schema", "store/durable", "store/bundle", "relay/config",
		"compiler/..."},
	"compiler/...":    {"envelope", "envelope/schema", "store/durable", "compiler/..."},
	"conformance/...": {"..."},
	"cmd/...":         {"..."},
	"examples/...":    {"..."},
}

// pure lists packages that decide and never touch the world, and what they must
// not import themselves.
var pure = map[string][]string{
	"envelope":        {"os", "net", "os/exec", "log/slog", "net/http"},
	"envelope/schema": {"os", "net", "os/exec", "log/slog", "net/http"},
}

// onlyIn says where a library may be imported directly.
var onlyIn = map[string][]string{
	"github.com/prometheus/client_golang": {"supervise/program/metrics", "vertex", "relay", "supervise/agent", "cmd/...", "examples/..."},
	"github.com/quic-go/quic-go":          {"vertex", "conformance/...", "examples/bench"},
	"github.com/go-jose/go-jose":          {"compiler/...", "store/bundle", "cmd/..."},
	"go.yaml.in/yaml":                     {"compiler/...", "examples/..."},
	"github.com/urfave/cli":               {"cmd/...", "examples/..."},
}

// goPackage is what `go list -json` tells of one package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func (p goPackage) room() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// TestImportsRunDownhill asserts the import table for every platform we build for.
func TestImportsRunDownhill(t *testing.T) {
	t.Parallel()
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range listPackages(t, goos) {
			for _, fault := range importFaults(p) {
				t.Errorf("%s: %s", goos, fault)
			}
		}
	}
}

// TestTenantSDKIsLight keeps the counters' library out of programs that only
// want the supervised-program contract.
func TestTenantSDKIsLight(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t, "linux") {
		if p.room() != "supervise/program" {
			continue
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, "github.com/prometheus/") {
				t.Errorf("supervise/program depends on %s", dep)
			}
		}
	}
}

func TestImportFaultsAreFound(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pkg  string
		imp  string
		want bool
	}{
		"the envelope may not read files":            {"envelope", "os", true},
		"the schema may not open sockets":            {"envelope/schema", "net", true},
		"the schema may parse addresses":             {"envelope/schema", "net/netip", false},
		"the envelope imports nothing of ours":       {"envelope", module + "/store/durable", true},
		"the agent never imports the vertex":         {"supervise/agent", module + "/vertex", true},
		"the vertex never imports the agent":         {"vertex", module + "/supervise/agent", true},
		"the vertex may read its payload":            {"vertex", module + "/envelope/schema", false},
		"nobody imports a command":                   {"compiler", module + "/cmd/retectl", true},
		"a package outside the table is refused":     {"util", module + "/envelope", true},
		"counters stay out of the tenant's SDK":      {"supervise/program", "github.com/prometheus/client_golang/prometheus", true},
		"the compiler's own rooms may be imported":   {"compiler", module + "/compiler/facade", false},
		"an internal package belongs to its parent":  {"vertex", module + "/vertex/internal/socks", false},
		"an internal package is held to its parent":  {"vertex/internal/socks", module + "/store", true},
		"a program may wire everything":              {"cmd/flor", module + "/supervise/agent", false},
		"another module whose path begins like ours": {"vertex", module + "-extra/x", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := importFaults(goPackage{ImportPath: module + "/" + c.pkg, Imports: []string{c.imp}})
			if got := len(faults) > 0; got != c.want {
				t.Errorf("importing %s from %s: faults %q, want a fault: %v", c.imp, c.pkg, faults, c.want)
			}
		})
	}
}

func importFaults(p goPackage) []string {
	room := p.room()
	allowed, known := rowFor(room)
	var faults []string
	if !known {
		faults = append(faults, room+" stands in no row of the import table")
	}
	for _, imp := range p.Imports {
		if fault := importFault(room, allowed, imp); fault != "" {
			faults = append(faults, fault)
		}
	}
	return faults
}

func importFault(room string, allowed []string, imp string) string {
	if slices.Contains(pure[room], imp) {
		return room + " is pure and must not import " + imp
	}
	for library, rooms := range onlyIn {
		if strings.HasPrefix(imp, library) && !matchesAny(rooms, room) {
			return room + " must not import " + imp
		}
	}
	target, ours := strings.CutPrefix(imp, module+"/")
	switch {
	case !ours, sharesInternal(room, target):
		return ""
	case strings.HasPrefix(target, "cmd/"), strings.HasPrefix(target, "examples/"):
		return room + " imports the program " + target
	case !matchesAny(allowed, target):
		return room + " must not import " + target
	}
	return ""
}

// rowFor finds the most specific row for a package; a package below internal/
// is held to the row of the package that the internal/ belongs to.
func rowFor(room string) (allowed []string, known bool) {
	room, _, _ = strings.Cut(room, "/internal/")
	if row, ok := mayImport[room]; ok {
		return row, true
	}
	for dir := room; dir != "."; dir = path.Dir(dir) {
		if row, ok := mayImport[dir+"/..."]; ok {
			return row, true
		}
	}
	return nil, false
}

func sharesInternal(room, target string) bool {
	owner, _, internal := strings.Cut(target, "/internal/")
	return internal && (room == owner || strings.HasPrefix(room, owner+"/"))
}

func matchesAny(patterns []string, room string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		base, wild := strings.CutSuffix(pattern, "...")
		base = strings.TrimSuffix(base, "/")
		return room == base || wild && (base == "" || strings.HasPrefix(room, base+"/"))
	})
}

func listPackages(t *testing.T, goos string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list printed something that is not JSON: %v", err)
		}
		packages = append(packages, p)
	}
}
