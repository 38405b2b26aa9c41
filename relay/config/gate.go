package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

const (
	major = 1
	minor = 0
)

var versionForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)

// gate takes its own major at any minor up to its own (ENV-14).
func gate(version string) error {
	if version == "" {
		return refuse(badVersion, fmt.Errorf("schema_version is missing"))
	}
	if !versionForm.MatchString(version) {
		return refuse(badVersion, fmt.Errorf("schema_version is %q: want MAJOR.MINOR", version))
	}
	majorText, minorText, _ := strings.Cut(version, ".")
	theirMajor, _ := strconv.Atoi(majorText) // the form bounds it
	theirMinor, _ := strconv.Atoi(minorText)
	switch {
	case theirMajor < major:
		return refuse(tooOld, fmt.Errorf("schema_version %s, this program reads %s: compile it again with a current retectl", version, SchemaVersion))
	case theirMajor > major || theirMinor > minor:
		return refuse(tooNew, fmt.Errorf("schema_version %s, this program reads %s: upgrade flor-coordinator", version, SchemaVersion))
	}
	return nil
}

// gateFirst decides which of two faults a person should read: a payload of a
// newer version fails the strict parse as well, and "unknown member" would send
// him looking in the wrong place.
func gateFirst(payload []byte, parseError error) error {
	var glance struct {
		SchemaVersion string `json:"schema_version"`
	}
	if json.Unmarshal(payload, &glance) == nil && versionForm.MatchString(glance.SchemaVersion) {
		if err := gate(glance.SchemaVersion); err != nil {
			return err
		}
	}
	return refuse(malformed, parseError)
}
