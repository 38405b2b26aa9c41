package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Rotate exchanges the management signer in the three steps of `retectl ca
// rotate-signer`, each compiled and published before the next (ENV-13).
func (o *Operator) Rotate(ctx context.Context, from, to string) error {
	for _, step := range []struct{ rotate, compile []string }{
		{[]string{"add", to, "--no-passphrase"}, nil},
		{[]string{"switch", to}, []string{"--resign", to}},
		{[]string{"retire", from}, nil},
	} {
		if err := o.rotateStep(ctx, step.rotate, step.compile); err != nil {
			return fmt.Errorf("rotate %s to %s: %w", from, to, err)
		}
	}
	return nil
}

func (o *Operator) rotateStep(ctx context.Context, rotate, compile []string) error {
	printed, err := o.Retectl(ctx, append([]string{"ca", "rotate-signer"}, rotate...)...)
	if err != nil {
		return err
	}
	if err := o.listSigners(printed); err != nil {
		return err
	}
	if _, err := o.Retectl(ctx, append([]string{"compile"}, compile...)...); err != nil {
		return err
	}
	_, err = o.Retectl(ctx, "publish")
	return err
}

var signerKeys = regexp.MustCompile(`keys: \[\{name:.*\}\]`)

// listSigners makes the change of rete.yaml that a step printed.
func (o *Operator) listSigners(printed []string) error {
	line := signerKeys.FindString(strings.Join(printed, "\n"))
	if line == "" {
		return fmt.Errorf("the step printed no list of keys: %q", printed)
	}
	file := filepath.Join(o.Repo, "rete.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := signerKeys.ReplaceAllLiteralString(string(text), line)
	return os.WriteFile(file, []byte(changed), 0o644)
}
