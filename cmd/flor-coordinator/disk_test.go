package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/florete/flor/relay/client"
)

// treeOf is a tree of one node with a payload of size bytes.
func treeOf(version uint64, size int) string {
	payload := map[string]any{"schema_version": "1.0", "filler": strings.Repeat("x", size)}
	return fmt.Sprintf("{\"artifacts\":[\n%s\n]}\n", signer.Sign("alpha", "agent", version, payload))
}

// serves checks what the coordinator answers for the node of the fixtures.
func (r *running) serves(text string) {
	r.t.Helper()
	reply, err := r.sync.Fetch(r.t.Context(), "alpha", 0, 0)
	if err != nil || string(reply.Document) != text {
		r.t.Errorf("it serves %d bytes (%v), want %d; %v", len(reply.Document), reply.Status, len(text), err)
	}
}

// refusesToStore checks that a publish is answered with 507 and these words.
func (r *running) refusesToStore(text, says string) {
	r.t.Helper()
	var refused *client.NotStored
	_, err := r.tryPublish(text)
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "FL3121") {
		r.t.Errorf("a publish that cannot be stored: %v, want %q", err, says)
	}
}

// CRD-7: whatever stands in the place of the tree, the coordinator serves on
// without it, says so, deletes nothing, and a publish is the cure.
func TestWhateverStandsInThePlaceOfTheTreeIsKept(t *testing.T) {
	t.Parallel()
	good := tree(3)
	cases := map[string]struct {
		plant func(name string) error
		says  string
	}{
		"a directory with something in it": {plantDirectory, "is not a regular file"},
		"a tree cut in the middle":         {plantText([]byte(good[:len(good)/2])), "FL3101"},
		"zeros":                            {plantText(make([]byte, len(good))), "FL3101"},
		"nothing":                          {plantText(nil), "FL3101"},
		"another document":                 {plantText([]byte(`{"nodes":{"alpha":3}}`)), "FL3101"},
		"200 MB of JSON that is no tree":   {plantLarge, "FL3102"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "200 MB") && (testing.Short() || raceDetector) {
				t.Skip("-short or -race: it writes and reads 200 MB")
			}
			t.Parallel()
			p := newPlace(t)
			file := filepath.Join(p.state, "tree.json")
			if err := c.plant(file); err != nil {
				t.Fatal(err)
			}
			planted := measure(t, file)
			r := p.start()
			if reply, err := r.sync.Fetch(t.Context(), "alpha", 0, 0); err != nil || reply.Status != client.NotPublished {
				t.Errorf("%v, %v", reply.Status, err)
			}
			r.publish(good)
			r.serves(good)
			if code, stderr := r.stop(); code != 0 || !strings.Contains(stderr, "FL3123") || !strings.Contains(stderr, c.says) {
				t.Errorf("exit %d, the log does not say %q: %s", code, c.says, stderr)
			}
			aside, err := filepath.Glob(file + ".corrupt-*")
			if err != nil || len(aside) != 1 || measure(t, aside[0]) != planted {
				t.Errorf("set aside: %q, %v", aside, err)
			}
		})
	}
}

func plantDirectory(name string) error {
	return errors.Join(os.Mkdir(name, 0o700), os.WriteFile(filepath.Join(name, "precious"), []byte("x"), 0o600))
}

func plantText(text []byte) func(string) error {
	return func(name string) error { return os.WriteFile(name, text, 0o600) }
}

// plantLarge writes a set document whose members are no artifacts.
func plantLarge(name string) error {
	const member = 1 << 20
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	filler := bytes.Repeat([]byte("x"), member)
	_, err = io.WriteString(f, `{"artifacts":[{}`)
	for n := 0; n < 200 && err == nil; n++ {
		_, err = fmt.Fprintf(f, `,{"n":"%s"}`, filler)
	}
	_, last := io.WriteString(f, "]}")
	return errors.Join(err, last, f.Close())
}

// measure describes a file, or what is in a directory.
func measure(t *testing.T, name string) string {
	t.Helper()
	var found strings.Builder
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&found, strings.TrimPrefix(path, name), info.Mode(), info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found.String()
}

// CRD-7: a tree that a newer program wrote is not for this one to judge: it ends
// with 78 and touches nothing.
func TestATreeOfANewerProgramExits78(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.state, "tree.json")
	if err := os.WriteFile(file, []byte(`{"schema_version":"2.0","nodes":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := measure(t, file)
	code, _, stderr := p.run()
	if code != 78 || !strings.Contains(stderr, "FL3125") || !strings.Contains(stderr, "upgrade flor-coordinator") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if got := measure(t, file); got != planted {
		t.Errorf("it is %s, was %s", got, planted)
	}
}

// CRD-4, CRD-7: a state directory in which nothing may be changed. A coordinator
// that runs refuses each publish and serves on; one that starts where it may not
// even lock ends as a crash, because modes can be put right without it. Root
// ignores modes, so that as root the program runs as another user here.
func TestADirectoryThatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	p, older, newer := newPlace(t).asOrdinaryUser(), tree(3), tree(4)
	r := p.start()
	r.publish(older)
	p.chmod(0o555)
	r.refusesToStore(newer, "permission denied")
	r.serves(older)
	if code, stderr := r.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	r = p.start()
	r.serves(older)
	r.refusesToStore(newer, "permission denied")
	p.chmod(0o700)
	r.publish(newer)
	r.serves(newer)
	r.stop()
	p.chmod(0o000)
	if code, _, stderr := p.run(); code != 1 || !strings.Contains(stderr, "state directory") || !strings.Contains(stderr, "permission denied") {
		t.Errorf("a closed directory: exit %d: %s", code, stderr)
	}
	p.chmod(0o700)
}

func (p *place) chmod(mode fs.FileMode) {
	p.t.Helper()
	if err := os.Chmod(p.state, mode); err != nil {
		p.t.Fatal(err)
	}
}
