package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"
)

const (
	configFile = "config.toml"
	// maxConfig limits config.toml, in bytes.
	maxConfig = 1 << 20
	// destinationVariable has precedence over config.toml.
	destinationVariable = "FLOR_LOG_DESTINATION"
	// defaultDestination is where logs go when nothing says otherwise (OBS-1).
	defaultDestination = "unix:/dev/log"
)

// settings is config.toml; it is closed.
type settings struct {
	Log struct {
		Destination string `toml:"destination"`
	} `toml:"log"`
}

// readConfig reads config.toml from the config directory; a missing one is an
// empty one.
func readConfig(dir string) (settings, error) {
	path := filepath.Join(dir, configFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, nil
	}
	if err != nil {
		return settings{}, refuse(badConfig, "%w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	switch {
	case err != nil:
		return settings{}, refuse(badConfig, "%s: %w", path, err)
	case len(text) > maxConfig:
		return settings{}, refuse(badConfig, "%s is larger than its limit of %d bytes", path, maxConfig)
	}
	return parseConfig(path, string(text))
}

func parseConfig(path, text string) (settings, error) {
	var c settings
	meta, err := toml.Decode(text, &c)
	if err != nil {
		return settings{}, refuse(badConfig, "%s: %w", path, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return settings{}, refuse(badConfig, "%s: %s is no setting of flor; [log] destination is one", path, unknown[0])
	}
	return c, nil
}

// destination is where logs go: FLOR_LOG_DESTINATION, else config.toml, else
// the syslog daemon of the machine. It is configured, never probed (OBS-1).
func destination(env string, c settings) string {
	switch {
	case env != "":
		return env
	case c.Log.Destination != "":
		return c.Log.Destination
	}
	return defaultDestination
}
