package diag

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Page is everything that is to be said about a code, for a person who has met
// it.
type Page struct {
	Code
	// Note says in a few words what the example is about, where that is not plain.
	Note string
	// Example is what [Render] makes of a source that yields exactly this code.
	Example string
}

// ReadPage joins a code with its example, the archive <dir>/<code>.txtar: its
// comment becomes the note, and the file "want" the example. The archives are
// run as golden tests, so that what a page shows is what the compiler says.
func ReadPage(fsys fs.FS, dir string, code Code) (Page, error) {
	text, err := fs.ReadFile(fsys, dir+"/"+code.ID+".txtar")
	if err != nil {
		return Page{}, fmt.Errorf("the page of %s: %w", code.ID, err)
	}
	archive := txtar.Parse(text)
	page := Page{Code: code, Note: note(archive.Comment)}
	for _, f := range archive.Files {
		if f.Name == "want" {
			page.Example = withoutSummary(f.Data)
		}
	}
	return page, nil
}

// note is the comment of an archive without its directives.
func note(comment []byte) string {
	var lines []string
	for line := range strings.Lines(string(comment)) {
		if !strings.HasPrefix(line, "!") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.TrimSpace(strings.Join(lines, " "))
}

// withoutSummary drops the last line, which counts.
func withoutSummary(rendered []byte) string {
	rendered = bytes.TrimSuffix(rendered, []byte("\n"))
	end := bytes.LastIndexByte(rendered, '\n') + 1
	return string(rendered[:end])
}

// Write writes the page as text.
func (p Page) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)\n%s\n", p.ID, p.Reason, p.Severity, p.Title)
	fmt.Fprintf(&b, "\ncause\n%s", indented(p.Cause))
	if p.Note != "" || p.Example != "" {
		fmt.Fprintf(&b, "\nexample\n%s%s", indented(p.Note), indented(p.Example))
	}
	fmt.Fprintf(&b, "\nfix\n%s", indented(p.Fix))
	_, err := io.WriteString(w, b.String())
	return err
}

// indented sets a text off by two spaces, with a newline at its end.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
