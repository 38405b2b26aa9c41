package service

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/florete/flor/store"
)

const plistHead = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
`

// renderPlist is the property list of a scope's agent (INS-2). Its agent logs to
// a file, because launchd has no datagram socket for logs.
func renderPlist(s Settings, scope string) ([]byte, error) {
	for _, path := range []string{s.Prefix, s.Layout.State} {
		if err := plainPath(path); err != nil {
			return nil, err
		}
	}
	log := filepath.Join(logDir(s), scope+".log")
	entries := []member{
		{"Label", labelOf(scope)},
		{"ProgramArguments", []string{s.flor(), "agent", "run", "--rete", scope, "--log-stderr"}},
		{"RunAtLoad", true},
		{"KeepAlive", []member{{"SuccessfulExit", false}}},
		{"ThrottleInterval", 10},
		{"ExitTimeOut", 90},
		{"StandardOutPath", log},
		{"StandardErrorPath", log},
		{"EnvironmentVariables", variables(s.Environment)},
	}
	if s.Mode == store.System {
		entries = append(entries, member{"UserName", s.Account}, member{"GroupName", s.Account})
	}
	var text bytes.Buffer
	text.WriteString(plistHead)
	if err := writeValue(&text, entries); err != nil {
		return nil, err
	}
	text.WriteString("</plist>\n")
	return text.Bytes(), nil
}

// logDir is where agents log that launchd runs.
func logDir(s Settings) string { return filepath.Join(s.Layout.State, "log") }

// member is a key of a dictionary with its value.
type member struct {
	key   string
	value any
}

func variables(environment []string) []member {
	members := []member{}
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		members = append(members, member{name, value})
	}
	return members
}

// writeValue writes a value of the kinds that our property lists have.
func writeValue(w *bytes.Buffer, value any) error {
	switch value := value.(type) {
	case string:
		return writeElement(w, "string", value)
	case int:
		fmt.Fprintf(w, "<integer>%d</integer>\n", value)
	case bool:
		fmt.Fprintf(w, "<%t/>\n", value)
	case []string:
		w.WriteString("<array>\n")
		for _, item := range value {
			if err := writeElement(w, "string", item); err != nil {
				return err
			}
		}
		w.WriteString("</array>\n")
	case []member:
		return writeDict(w, value)
	default:
		return fmt.Errorf("a property list cannot hold a %T", value)
	}
	return nil
}

func writeDict(w *bytes.Buffer, members []member) error {
	w.WriteString("<dict>\n")
	for _, m := range members {
		if err := writeElement(w, "key", m.key); err != nil {
			return err
		}
		if err := writeValue(w, m.value); err != nil {
			return err
		}
	}
	w.WriteString("</dict>\n")
	return nil
}

func writeElement(w *bytes.Buffer, name, text string) error {
	w.WriteString("<" + name + ">")
	if err := xml.EscapeText(w, []byte(text)); err != nil {
		return err
	}
	w.WriteString("</" + name + ">\n")
	return nil
}
