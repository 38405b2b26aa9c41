package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/facade"
)

// findRepository is the directory that --repo names, or the nearest one from
// here upwards that has a rete.yaml.
func findRepository(cmd *cli.Command) (string, error) {
	if dir := cmd.String("repo"); dir != "" {
		return dir, namesDirectory(dir)
	}
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, facade.RootFile))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", refuse(reasonNoRepository, "no %s in %s or above; go to the repository, say --repo DIR, or make one with \"retectl init\"", facade.RootFile, start)
		}
	}
}

// namesDirectory refuses a --repo that is no directory.
func namesDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(reasonNoRepository, "--repo names %s, which does not exist", dir)
	case err == nil && !info.IsDir():
		return refuse(reasonNoRepository, "--repo names %s, which is no directory; name the one that has %s", dir, facade.RootFile)
	}
	return err
}

// sourceFlags choose what is read.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, TakesFile: true, Usage: "read `FILE|GLOB` instead of what is found; may be repeated"},
	}
}

// source says what to read for a command with sourceFlags. Paths are those of
// the shell: relative to the working directory, wherever the repository is.
func source(cmd *cli.Command) (compiler.SourceOptions, error) {
	dir, err := findRepository(cmd)
	if err != nil {
		return compiler.SourceOptions{}, err
	}
	var files []string
	for _, name := range cmd.StringSlice("file") {
		file, err := filepath.Abs(name)
		if err != nil {
			return compiler.SourceOptions{}, err
		}
		files = append(files, file)
	}
	return compiler.SourceOptions{Dir: dir, Files: files, Now: time.Now()}, nil
}
