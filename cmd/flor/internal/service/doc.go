// Package service has agents run by the host's service manager: systemd on
// Linux, launchd on darwin (INS-2, INS-3). The commands of flor call it; the
// agent knows nothing of it (AGT-8).
//
// It renders what the manager reads, and asks and tells the manager through its
// own command, "systemctl" or "launchctl", as a person would. What it reports it
// has asked for afterwards: a manager that accepts a command and does something
// else is an error.
//
// # systemd
//
// One template unit, flor-agent@.service, with the scope as its instance; in
// system mode entries for systemd-tmpfiles (the runtime base) and
// systemd-sysusers (the account that runs agents) beside it. They lie below the
// install's prefix, where systemd looks for prefixes /usr/local, /usr and
// ~/.local; of any other prefix the unit is linked when a scope is enabled, and
// unlinked with the last. Units of another install are not touched: a unit
// counts only if it comes from this install's template.
//
// The hardening leaves the agent and flor's own workloads working. A tenant's
// workload that needs more (a just-in-time compiler, its own directories) is
// given it by a drop-in, which "systemctl edit flor-agent@SCOPE" makes. In user
// mode there is only what an unprivileged manager can grant.
//
// # launchd
//
// A property list per scope, made when the scope is enabled and removed when it
// is disabled. launchd tries an agent that ended with 78 again every ten
// seconds, because it knows no exit code that means otherwise.
package service
