// Package completion lets the command line of a program be completed in bash,
// zsh, fish and PowerShell: its commands and flags, and the words that only the
// program knows, such as the names in a repository.
//
// "PROGRAM completion SHELL" prints a script, which asks the program for each
// word: with the words in front of the cursor, the one at the cursor if it starts
// with a hyphen, and --generate-shell-completion behind them. The answer is a
// candidate a line, with a colon and a description where there is one. Where
// there is no candidate the shells complete the names of files.
//
// The scripts for bash, zsh and fish are ours, because those of the command line
// library need bash-completion in bash, evaluate what is typed, and drop in fish
// each candidate that begins with the name of the program. That for PowerShell is
// the library's.
//
// Limits: bash splits what is typed at blanks and knows no quotes; it and zsh do
// not complete behind several commands in one line that set variables for one.
package completion
