package self

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/florete/flor/conformance"
)

// KillVerifiers runs the vectors against deliberately wrong verifiers: the one in
// Python, without one of its checks or with one misunderstanding each (CNF-4). It
// needs python3 with the package cryptography.
func (w *Workshop) KillVerifiers(ctx context.Context) (MutantReport, error) {
	dir := filepath.Join(w.source.Root, "conformance")
	cmd := exec.CommandContext(ctx, "python3", "-B", filepath.Join(dir, "verifiers", "python", "vectors.py"), "--mutants", filepath.Join(dir, "vectors"))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return MutantReport{}, fmt.Errorf("the wrong verifiers need python3 with its package cryptography: %w", err)
	}
	return readKilledVerifiers(string(out)), nil
}

// readKilledVerifiers reads the table that the verifier in Python prints: a case
// and what it kills, or a mutant that is alive.
func readKilledVerifiers(table string) MutantReport {
	report := MutantReport{Subject: "verifier in Python", Suite: conformance.VectorSuite}
	at := map[string]int{}
	for line := range strings.Lines(table) {
		name, mutants, row := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case !row:
		case name == "mutant alive":
			report.Mutants = append(report.Mutants, Killing{Mutant: mutants})
		case mutants == "SURVIVED ALL":
			report.Useless = append(report.Useless, name)
		default:
			report.file(at, name, strings.Split(mutants, "; "))
		}
	}
	return report
}

// file notes that a case kills mutants. at tells where each of them is.
func (r *MutantReport) file(at map[string]int, name string, mutants []string) {
	for _, m := range mutants {
		i, known := at[m]
		if !known {
			i = len(r.Mutants)
			at[m], r.Mutants = i, append(r.Mutants, Killing{Mutant: m})
		}
		r.Mutants[i].Killed = append(r.Mutants[i].Killed, name)
	}
}
