package facade

import (
	"embed"

	"github.com/florete/flor/compiler/diag"
)

var registry diag.Registry

// pages has a source for each code that yields exactly it.
//
//go:embed pages/*.txtar
var pages embed.FS

// Registry has the codes of this package with cause and fix.
func Registry() []diag.Code { return registry.Codes() }

// Codes maps each code of this package to one line.
func Codes() map[string]string { return registry.Titles() }

// Page has cause, example and fix of a code of [Registry].
func Page(code diag.Code) (diag.Page, error) { return diag.ReadPage(pages, "pages", code) }

// Finding and reading files (CMP-2).
var (
	noRete = registry.Error("FL0001", "no-rete-yaml", "there is no rete.yaml at the root of the repository",
		"retectl was started outside a repository, or rete.yaml lies deeper than its root.",
		"Change into the repository, or name it with --repo; `retectl init` makes a new one.")
	unreadable = registry.Error("FL0002", "unreadable", "a file or directory of the source cannot be read",
		"The file's permissions, or the disk, do not let retectl read it.",
		"Make it readable, or exclude it under `source` in rete.yaml.")
	notRegular = registry.Error("FL0003", "not-a-file", "something that is not a regular file is named like a source",
		"A directory, pipe, socket or device has a name that ends in .yaml or .yml.",
		"Rename it, or exclude it under `source` in rete.yaml.")
	linkLeaves = registry.Error("FL0004", "link-leaves", "a path leads out of the repository",
		"A symbolic link, or a file named with -f, lies outside the repository, so that a clone would not have it.",
		"Copy the file into the repository.")
	linkBroken = registry.Error("FL0005", "link-broken", "a symbolic link leads nowhere",
		"The target of the link was removed, or links point at each other in a circle.",
		"Remove the link, or let it point at a file.")
	fileTooLarge = registry.Error("FL0006", "file-too-large", "a file is over the limit of 16 MiB",
		"Usually something else than a description of a rete has been given the ending .yaml.",
		"Exclude it under `source` in rete.yaml, or split it.")
	sourceTooLarge = registry.Error("FL0007", "source-too-large", "the files are over the limit of 256 MiB in all",
		"Usually a directory of generated or foreign YAML lies in the repository.",
		"Exclude it under `source` in rete.yaml.")
	notText = registry.Error("FL0008", "not-text", "a file is not UTF-8 text",
		"It is a binary file, in another encoding, or has control characters in it.",
		"Save it as UTF-8, or exclude it under `source` in rete.yaml.")
	badPattern = registry.Error("FL0009", "bad-pattern", "a pattern for files is malformed",
		"A bracket is not closed, or the pattern is empty or leads out of the repository.",
		"Write a path below the root, with *, ?, [a-z] and ** where needed.")
	noSuchFile = registry.Error("FL0010", "no-such-file", "a file that was asked for does not exist",
		"The path or pattern given with -f matches nothing.",
		"Check the path; it is relative to the directory in which retectl runs.")
	idlePattern = registry.Warning("FL0011", "idle-pattern", "an include pattern matches no file",
		"The files were moved, or the pattern has a typing error.",
		"Correct or remove the pattern under `source` in rete.yaml.")
)

// The form of YAML (CMP-1).
var (
	badSyntax = registry.Error("FL0101", "syntax", "the text is not YAML",
		"A bracket, quote or colon is missing, or lines of one block are indented differently.",
		"Look at the marked place and the line above it.")
	tabIndent = registry.Error("FL0102", "tab-indent", "a line is indented with a tab",
		"YAML knows indentation by spaces only.",
		"Replace the tab by spaces.")
	severalDocuments = registry.Error("FL0103", "several-documents", "a file holds more than one YAML document",
		"A line `---` starts another document.",
		"Remove the line, or put each part into a file of its own.")
	anchorUsed = registry.Error("FL0104", "anchor", "an anchor or alias is used",
		"`&name` and `*name` would let a few lines stand for gigabytes.",
		"Write the value out where it is needed.")
	mergeKey = registry.Error("FL0105", "merge-key", "a merge key is used",
		"`<<` copies one mapping into another, and hides where a setting comes from.",
		"Write the settings out where they are needed.")
	tagUsed = registry.Error("FL0106", "tag", "a tag is used",
		"`!tag` changes the type of a value; the facade knows the type of each place.",
		"Remove the tag; quote the value if it is meant as a string.")
	duplicateKey = registry.Error("FL0107", "duplicate-key", "a key is given twice in one mapping",
		"An entry was copied and not renamed, or a section was added where one existed.",
		"Merge the two, or rename one.")
	unknownKey = registry.Error("FL0108", "unknown-key", "a key is not known at this place",
		"The key has a typing error, or is indented too far or not far enough.",
		"Use one of the keys that the message lists.")
	notAName = registry.Error("FL0109", "not-a-name", "a name would be read as something else than a string",
		"YAML reads words such as no, 017, 1_000, 12:30 and ~ as booleans, numbers, times or nothing.",
		"Quote it.")
	wrongShape = registry.Error("FL0110", "wrong-shape", "a value has another shape than its place needs",
		"A list stands where one value is due, a value where a list or mapping is due, or the other way round.",
		"Write it in the shape that the message names.")
	noValue = registry.Error("FL0111", "no-value", "a key has no value",
		"The value was left out, or is indented as if it belonged to another key.",
		"Write a value, or remove the key to get the default.")
	notANumber = registry.Error("FL0112", "not-a-number", "a whole number is due",
		"The value has a unit, a fraction, quotes or another base.",
		"Write decimal digits alone, such as 365.")
	misplaced = registry.Error("FL0113", "misplaced-source", "the section `source` stands outside rete.yaml",
		"Which files are read is decided in one place.",
		"Move the section to rete.yaml at the root.")
	tooDeep = registry.Error("FL0114", "too-deep", "the nesting is deeper than any rete needs",
		"The text is generated, damaged, or no description of a rete.",
		"Remove the excess levels.")
)
