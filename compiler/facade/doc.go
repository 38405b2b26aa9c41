// Package facade reads the YAML of a rete as its operator wrote it: it finds
// the files, checks their form and unites them into one [Source], in which
// every key and value has its place (CMP-1, CMP-2).
//
// It is called by compiler and retectl. What it does not do is judge the
// content: names, references, defaults and addresses are resolved by
// compiler.Validate.
//
// # Which files are read
//
// Every *.yaml and *.yml below the root except dotfiles, dot-directories and
// the certs directory at the root. `source` in rete.yaml narrows that:
// `include` replaces the default pattern, `exclude` subtracts; a pattern is
// matched against the slash-separated path below the root, `**` standing for
// any number of directories. rete.yaml itself is always read. [Options.Files]
// bypasses all of it. A symbolic link is followed as long as it stays inside
// the repository, and a file that has several names is read once.
//
// # What it promises
//
// The result depends on nothing but the content of the files: neither the order
// in which a directory lists them nor how the operator split them changes it.
// Every input is hostile until checked: at most [MaxFile] bytes a file and
// [MaxSource] in all, nesting up to [MaxDepth], and no anchors, aliases, merge
// keys or tags, so that reading is linear in the size of the text. It never
// panics, never blocks on a pipe and never follows a link out of the
// repository. Each fault is a located diagnostic; what was refused is missing
// in the Source, and [Source.Whole] and the Faulty marks tell validation where
// not to look for its echo.
//
// The subset of YAML is deliberately small: names must be strings in every
// version of YAML, so `no`, `017`, `1_000` and `12:30` have to be quoted.
package facade
