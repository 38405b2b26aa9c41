// Package misuse says in words for people what is wrong with a command line: with
// flags as they are typed, with what a flag takes, and with the nearest name of
// what there is. Programs on the library github.com/urfave/cli call it; each makes
// an error of its own of the words, with its code and its exit code (CLI-5).
//
// A program settles its tree of commands once, and asks for arguments where a
// command runs:
//
//	var misused = misuse.Refusal(func(err error) error { return &usageError{err} })
//
//	app := misused.Settle(&cli.Command{ … })
//	name, err := misused.OneArgument(cmd, "the name of the rete")
//
// Limits: the library has no types for what it finds wrong, so its words are read;
// those that are not known are passed on as they are.
package misuse
