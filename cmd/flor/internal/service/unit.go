package service

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/florete/flor/store"
)

const (
	unitPrefix = "flor-agent@"
	unitSuffix = ".service"
	// Template is the name of the unit of which each scope is an instance.
	Template = unitPrefix + unitSuffix
)

// Paths below the prefix where systemd and its tools look.
const (
	systemUnits = "lib/systemd/system/"
	userUnits   = "share/systemd/user/"
	tmpfiles    = "lib/tmpfiles.d/flor.conf"
	sysusers    = "lib/sysusers.d/flor.conf"
)

// unitOf is the unit of a scope. A scope's name is a safe one (ENV-4), and all
// its characters stand for themselves in the name of a unit.
func unitOf(scope string) string { return unitPrefix + scope + unitSuffix }

// scopeOf is the scope of a unit.
func scopeOf(unit string) (string, bool) {
	rest, isOurs := strings.CutPrefix(unit, unitPrefix)
	scope, isService := strings.CutSuffix(rest, unitSuffix)
	return scope, isOurs && isService && scope != "" && store.CheckScope(scope) == nil
}

func (s Settings) templatePath() string {
	if s.Mode == store.System {
		return systemUnits + Template
	}
	return userUnits + Template
}

// SystemdFiles renders what systemd reads, to be placed below the prefix (INS-2).
func SystemdFiles(s Settings) ([]File, error) {
	for _, path := range []string{s.Prefix, s.Layout.State, s.Layout.Config, s.Layout.RuntimeBase} {
		if err := plainPath(path); err != nil {
			return nil, err
		}
	}
	unit, err := renderUnit(s)
	if err != nil {
		return nil, err
	}
	files := []File{{s.templatePath(), unit}}
	if s.Mode != store.System {
		return files, nil
	}
	if err := checkAccount(s.Account); err != nil {
		return nil, err
	}
	return append(files,
		File{tmpfiles, []byte(tmpfilesEntry(s))},
		File{sysusers, []byte(sysusersEntry(s))},
	), nil
}

// checkAccount refuses what would be more than one word in the files rendered.
func checkAccount(name string) error {
	if name == "" || name[0] == '-' || strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r)
	}) {
		return errors.New("the name of an account has letters, digits, _ and - only")
	}
	return nil
}

// tmpfilesEntry makes the runtime base at each boot, for the account.
func tmpfilesEntry(s Settings) string {
	return fmt.Sprintf("# The runtime base of flor: a directory per scope below it.\nd %s 0755 %s %s -\n", quote(s.Layout.RuntimeBase), s.Account, s.Account)
}

// sysusersEntry is the account that runs agents.
func sysusersEntry(s Settings) string {
	return fmt.Sprintf("# Who runs the agents of flor.\nu %s - \"Florete agent\" %s\n", s.Account, quote(s.Layout.State))
}

// quote makes one word of a path in the files of systemd. It has no quotes and no
// backslash (see plainPath).
func quote(path string) string { return `"` + strings.ReplaceAll(path, `%`, `%%`) + `"` }

// quoteArgument is quote where variables are expanded: in the arguments of a
// command, but not in its name.
func quoteArgument(path string) string { return strings.ReplaceAll(quote(path), "$", "$$") }

// unitTemplate has no RestrictNamespaces=: that takes clone3 away, and with it the
// way in which a workload is born in a cgroup of its own, which nothing it leaves
// behind can escape (SUP-5). What else makes namespaces is filtered.
var unitTemplate = template.Must(template.New(Template).Funcs(template.FuncMap{
	"quote": quote, "argument": quoteArgument,
}).Parse(`[Unit]
Description=Florete agent of scope %i
Documentation=https://github.com/florete/flor
After=network.target
StartLimitIntervalSec=0

[Service]
Type=exec
{{- if .System}}
User={{.Account}}
Group={{.Account}}
ExecStartPre=+systemd-tmpfiles --create {{argument .Tmpfiles}}
{{- end}}
ExecStart={{quote .Flor}} agent run --rete %i
{{- range .Environment}}
Environment={{quote .}}
{{- end}}
Restart=on-failure
RestartSec=1s
RestartPreventExitStatus=78
KillMode=mixed
TimeoutStopSec=90s
Delegate=yes
UMask=0077

# What agent and vertex need of the host, and no more.
NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~setns unshare
SystemCallErrorNumber=EPERM
{{- if .System}}
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
ReadWritePaths=-{{quote .State}} -{{quote .Runtime}}
RemoveIPC=yes
{{- end}}

[Install]
WantedBy={{.Target}}
`))

func renderUnit(s Settings) ([]byte, error) {
	system := s.Mode == store.System
	target := "default.target"
	if system {
		target = "multi-user.target"
	}
	var text strings.Builder
	err := unitTemplate.Execute(&text, map[string]any{
		"System": system, "Account": s.Account, "Target": target, "Environment": s.Environment,
		"Flor": s.flor(), "Tmpfiles": filepath.Join(s.Prefix, tmpfiles),
		"State": s.Layout.State, "Runtime": s.Layout.RuntimeBase,
	})
	return []byte(text.String()), err
}
