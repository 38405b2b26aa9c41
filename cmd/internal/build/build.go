// Package build tells what the go command recorded of a program when it built
// it: version and revision of the module, platform, and version of Go. All
// programs of flor print it; nothing else decides what they are.
package build

import (
	"debug/buildinfo"
	"runtime"
	"runtime/debug"
)

// Unknown is the version of a program of which nothing was recorded.
const Unknown = "(unknown)"

// Info is what was recorded. Fields that were not are empty.
type Info struct {
	Version  string `json:"version"`                 // of the module: a tag, or one made of time and revision
	Revision string `json:"revision,omitempty"`      // the commit
	Time     string `json:"revision_time,omitempty"` // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"`      // the working tree was not the commit
	Platform string `json:"platform"`                // GOOS/GOARCH
	Go       string `json:"go"`
}

// Read returns what was recorded of the running program.
func Read() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info)
}

// Version is the version of the running program.
func Version() string { return Read().Version }

// ReadFile returns what was recorded of the program in a file. A file that is no
// Go program is an error.
func ReadFile(name string) (Info, error) {
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return Info{}, err
	}
	found := of(info)
	found.Go = info.GoVersion
	return found, nil
}

func of(recorded *debug.BuildInfo) Info {
	i := Info{Version: recorded.Main.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if i.Version == "" {
		i.Version = Unknown
	}
	for _, s := range recorded.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.time":
			i.Time = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}
