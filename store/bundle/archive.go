package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/florete/flor/envelope"
)

// Limits of a bundle.
const (
	MaxSize    = 64 << 20 // bytes of the archive
	MaxEntries = 1024     // the manifest included
)

// What every entry of the archive is like.
const (
	blockSize        = 512
	entryMode  int64 = 0o600
	endOfTar         = 2 * blockSize // an archive ends in at least this many zeros
	cutMessage       = "the file ends too early: copy it again, or issue a new one"
)

// file is one entry of an archive.
type file struct {
	name string
	data []byte
}

// pack writes a plain ustar: entries 0600, time 0, no owner.
func pack(w io.Writer, files []file) error {
	tw := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{
			Format: tar.FormatUSTAR, Typeflag: tar.TypeReg,
			Name: f.name, Mode: entryMode, Size: int64(len(f.data)), ModTime: time.Unix(0, 0),
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(f.data); err != nil {
			return err
		}
	}
	return tw.Close()
}

// unpack reads a plain ustar into memory. It takes nothing but what pack could
// have written, owners and padding of other writers at the end apart: regular
// files of mode 0600 and time 0, names by BND-1, each once. Nothing in it is
// ever a path to write to.
func unpack(archive []byte) ([]file, error) {
	if len(archive) < endOfTar || len(archive)%blockSize != 0 || !isZero(archive[len(archive)-endOfTar:]) {
		return nil, refuse(CutShort, "%s", cutMessage)
	}
	rest := bytes.NewReader(archive)
	tr := tar.NewReader(rest)
	var files []file
	seen := make(map[string]bool)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files, checkTail(archive, rest.Len())
		}
		if err != nil {
			return nil, refuse(BadArchive, "%w", err)
		}
		if err := checkHeader(h, seen); err != nil {
			return nil, err
		}
		data, err := readEntry(tr, rest, archive, h.Size)
		if err != nil {
			return nil, refuse(BadArchive, "%s: %w", h.Name, err)
		}
		files = append(files, file{name: h.Name, data: data})
	}
}

// readEntry returns an entry's content as a sub-slice of the archive, and
// checks that what fills its last block up is zero.
func readEntry(tr io.Reader, rest *bytes.Reader, archive []byte, size int64) ([]byte, error) {
	start := len(archive) - rest.Len()
	if n, err := io.Copy(io.Discard, tr); err != nil || n != size {
		return nil, errors.Join(errors.New("its content is cut short"), err)
	}
	end := start + int(size)
	padding := archive[end : end+(blockSize-end%blockSize)%blockSize]
	if !isZero(padding) {
		return nil, errors.New("its last block is not filled up with zeros")
	}
	return archive[start:end], nil
}

// checkHeader judges one entry's header, and remembers its name.
func checkHeader(h *tar.Header, seen map[string]bool) error {
	switch {
	case len(seen) == MaxEntries:
		return refuse(TooLarge, "the bundle has more than %d entries", MaxEntries)
	case h.Format != tar.FormatUSTAR:
		return refuse(BadArchive, "%q is not written as plain ustar", h.Name)
	case h.Typeflag != tar.TypeReg || h.Linkname != "":
		return refuse(BadEntry, "%q is not a regular file", h.Name)
	case h.Mode != entryMode:
		return refuse(BadEntry, "%q has mode %04o, not 0600", h.Name, h.Mode)
	case h.ModTime.Unix() != 0:
		return refuse(BadEntry, "%q has a time other than 0", h.Name)
	case !knownName(h.Name):
		return refuse(BadName, "%q is no name of a bundle's entry", h.Name)
	case seen[envelope.FoldName(h.Name)]:
		return refuse(DuplicateEntry, "%q occurs twice", h.Name)
	}
	seen[envelope.FoldName(h.Name)] = true
	return nil
}

// checkTail refuses content behind the end of the archive, where tar does not
// look.
func checkTail(archive []byte, left int) error {
	if !isZero(archive[len(archive)-left:]) {
		return refuse(BadArchive, "there is something behind the end of the archive")
	}
	return nil
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
