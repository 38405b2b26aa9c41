package main

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/florete/flor/compiler/diag"
)

// explanations has a text for each block of codes whose package says no more
// of them than their meaning:
//
//	where: where a reader meets the codes of the block
//	example: a line as it is met
//
//	FL1105 signer-retired
//	cause: …
//	fix: …
//
// A code of the program flor, which cannot be asked, has its title there too.
//
//go:embed explanations/*.txt
var explanations embed.FS

// explainElsewhere gives the page of a code that no page of package compiler
// and no refusal of the command explains; false where there is none.
func explainElsewhere(id string) (diag.Page, bool) {
	if len(id) != len("FLnnnn") {
		return diag.Page{}, false
	}
	text, err := fs.ReadFile(explanations, "explanations/"+id[:4]+".txt")
	if err != nil {
		return diag.Page{}, false
	}
	blocks := strings.Split(string(text), "\n\n")
	for _, block := range blocks[1:] {
		if rest, found := strings.CutPrefix(block, id+" "); found {
			page := diag.Page{Code: diag.Code{ID: id, Severity: diag.Error, Title: meanings()[id]}}
			fill(&page, blocks[0])
			page.Reason, rest, _ = strings.Cut(rest, "\n")
			fill(&page, rest)
			page.Title = strings.TrimPrefix(page.Title, page.Reason+": ")
			return page, true
		}
	}
	return diag.Page{}, false
}

// fill reads lines of the form "key: text" into a page.
func fill(page *diag.Page, lines string) {
	for line := range strings.Lines(lines) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "where":
			page.Note = text
		case "example":
			page.Example = text + "\n"
		case "title":
			page.Title = text
		case "cause":
			page.Cause = text
		case "fix":
			page.Fix = text
		}
	}
}

// titlesOfFlor are the codes of the program flor, by their explanations.
func titlesOfFlor() map[string]string {
	titles := map[string]string{}
	for _, block := range []string{"FL26", "FL50"} {
		for n := range 100 {
			id := fmt.Sprintf("%s%02d", block, n)
			if page, known := explainElsewhere(id); known {
				titles[id] = page.Title
			}
		}
	}
	return titles
}
