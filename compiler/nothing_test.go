package compiler

import (
	"context"
	"crypto"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope"
)

// What a caller forgot to give is an error and no crash, and nothing is written.
func TestNothingIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	w.edit("services.yaml", "127.0.0.1:9000", "127.0.0.1:9002")
	before := w.snapshot()
	ctx := context.Background()
	signedBy := func(choose ChooseSigner) error {
		opts := w.options()
		opts.Signer = choose
		_, err := Compile(ctx, opts)
		return err
	}
	of := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"no repository":              of(Load(SourceOptions{Now: w.now})),
		"nobody to sign":             signedBy(nil),
		"a choice of nobody":         signedBy(func([]*Signer) (*Signer, crypto.Signer, error) { return nil, nil, nil }),
		"a signer without a key":     signedBy(func(s []*Signer) (*Signer, crypto.Signer, error) { return s[0], nil, nil }),
		"no view to project":         of(Project(ctx, nil)),
		"a view that nobody made":    of(Project(ctx, new(View))),
		"no view to compare":         of(Compare(ctx, nil, nil)),
		"no view to export from":     of((*CompiledTree)(nil).Export(nil, "alpha")),
		"no view that needs bundles": of(DueBundles(w.dir, nil, w.now)),
		"no source of a rotation":    of(ReadRotation(nil, w.dir)),
		"a source without a view":    of(ReadRotation(new(Loaded), w.dir)),
		"nobody to choose from":      of(PickSigner(nil, "", nil)),
		"nobody who has a key":       of(PickSigner([]*Signer{{Name: "primary"}}, "", nil)),
	} {
		if err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if !sameFiles(before, w.snapshot()) {
		t.Error("something was written")
	}
}

func TestABundleNeedsAnAuthority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	for name, authority := range map[string]func(*View) (*ca.Authority, error){
		"none": nil,
		"nil":  func(*View) (*ca.Authority, error) { return nil, nil },
	} {
		_, err := Issue(t.Context(), IssueOptions{SourceOptions: w.source(), Node: "alpha", Signer: w.choose, Authority: authority})
		if err == nil || !strings.Contains(err.Error(), "IssueOptions.Authority") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Issue(t.Context(), IssueOptions{
		SourceOptions: w.source(), Node: "alpha",
		Authority: func(*View) (*ca.Authority, error) { return w.authority, nil },
	})
	if !IsRefused(err, ReasonNoSigner) {
		t.Errorf("without a signer: %v", err)
	}
}

// A source that is none has the faults of an empty one; a certificate that
// nothing can read is a fault of its own.
func TestASourceThatIsNoneHasFaults(t *testing.T) {
	t.Parallel()
	if view, found := Validate(nil, ValidateOptions{}); view != nil || !found.HasErrors() {
		t.Errorf("view %v, found %v", view, found)
	}
}

// A tree that is none has no set: everything is new.
func TestATreeThatIsNoneIsEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	loaded, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	diff, err := Compare(t.Context(), loaded.View, nil)
	if err != nil || len(diff.Joined) != 4 {
		t.Errorf("joined %v, error %v", diff, err)
	}
	if _, err := (*CompiledTree)(nil).Export(loaded.View, "alpha"); !IsRefused(err, ReasonNothingCompiled) {
		t.Errorf("exported: %v", err)
	}
}

// A certificate without a SPIFFE ID is logged by its serial alone.
func TestACertificateWithoutAnIDIsLogged(t *testing.T) {
	t.Parallel()
	cert := *newWorld(t).authority.Certificate()
	cert.URIs = nil
	if i := NewIssued(&cert, "", time.Now()); i.Kind != "" || i.Name != "" || i.Serial == "" {
		t.Errorf("logged as %+v", i)
	}
}

// A floor that leaves no version is refused, and says that it is the floor.
func TestAFloorLeavesAVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	for _, check := range []bool{true, false} {
		opts := w.options()
		opts.Floor, opts.Check = envelope.MaxVersion, check
		if err := w.compileError(opts); !IsRefused(err, ReasonVersionsUsedUp) || !strings.Contains(err.Error(), "the floor 9007199254740991 leaves no version") {
			t.Errorf("check %t: %v", check, err)
		}
	}
}
