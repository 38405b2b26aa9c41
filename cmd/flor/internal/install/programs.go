package install

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/florete/flor/cmd/internal/build"
)

// programPerm is the mode of an installed program.
const programPerm = 0o755

// programs are what flor is made of, as they lie below a prefix (design table
// "Directories").
var programs = []string{flor, "bin/retectl", LibDir + "/flor-vertex", LibDir + "/flor-coordinator"}

// Programs reads the four programs of the build that the running executable
// belongs to: beside it, as the go command leaves them, or as they lie in an
// install. mine is what was recorded of the executable; a program of another
// build is refused with reason [MixedBuild].
func Programs(executable string, mine build.Info) ([]File, error) {
	bin := filepath.Dir(executable)
	from := []string{bin, filepath.Join(bin, "..", "lib", "flor")}
	var files []File
	for _, name := range programs {
		data, found, err := readProgram(from, path.Base(name))
		if err != nil {
			return nil, err
		}
		if err := sameBuild(found, mine); err != nil {
			return nil, err
		}
		files = append(files, File{Path: name, Mode: programPerm, Data: data})
	}
	return files, nil
}

func readProgram(from []string, name string) (data []byte, found string, err error) {
	for _, dir := range from {
		found = filepath.Join(dir, name)
		data, err = readLimited(found)
		if !errors.Is(err, fs.ErrNotExist) {
			return data, found, err
		}
	}
	return nil, "", refuse(MissingProgram, "%s is not in %s: build all of them into one directory, go build -o DIR/ ./cmd/..., and run DIR/flor install", name, from[0])
}

func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = refuse(MissingProgram, "%s is larger than the limit of %d bytes: it is no program of flor", name, MaxFile)
	}
	return data, err
}

func sameBuild(program string, mine build.Info) error {
	its, err := build.ReadFile(program)
	if err != nil {
		return refuse(MixedBuild, "%s is no program of flor: %w", program, err)
	}
	if its != mine {
		return refuse(MixedBuild, "%s is of version %s %s, flor of %s %s: build them together", program, its.Version, its.Revision, mine.Version, mine.Revision)
	}
	return nil
}
