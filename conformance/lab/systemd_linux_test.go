package lab

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/conformance/lab/systemd"
)

// systemdHost is a machine with systemd, on which the programs are to be installed.
type systemdHost struct {
	*systemd.Machine
	t *testing.T
}

// bootSystemd boots a machine that has the programs in /opt/shared/bin, beside
// lib/flor, and is gone when the test ends.
func bootSystemd(t *testing.T) *systemdHost {
	t.Helper()
	if err := systemd.Unavailable(); err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("-short: builds four programs and boots a machine")
	}
	t.Parallel()
	programs(t)
	if err := os.Chmod(built.dir, 0o755); err != nil { // a user of the machine looks in, too
		t.Fatal(err)
	}
	began := time.Now()
	m, err := systemd.Boot(t.Context(), systemd.Options{Shared: built.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-70s %v", "systemd is up", time.Since(began).Round(time.Millisecond))
	h := &systemdHost{m, t}
	t.Cleanup(h.end)
	return h
}

func (h *systemdHost) end() {
	if h.t.Failed() {
		out, err := h.Shell(context.Background(), "journalctl --no-pager -n 80 || true; systemctl --no-pager list-units --all 'flor*'")
		h.t.Logf("end of the journal (%v):\n%s\nconsole:\n%s", err, out, h.Console())
	}
	if err := h.Close(); err != nil {
		h.t.Error(err)
	}
}

// prelude is what the steps of a test may call.
const prelude = `
until_healthy() {
  i=0
  until flor agent status "$@" >status.txt 2>&1; do
    i=$((i+1)); [ $i -lt 600 ] || { cat status.txt; exit 1; }
    sleep 0.05
  done
}
until_state() {
  i=0
  until [ "$($systemctl show -p SubState --value flor-agent@$1)" = $2 ]; do
    i=$((i+1)); [ $i -lt 600 ] || { $systemctl status --no-pager flor-agent@$1; exit 1; }
    sleep 0.05
  done
}
main_pid() { $systemctl show -p MainPID --value flor-agent@$1; }
group() { echo "/sys/fs/cgroup$($systemctl show -p ControlGroup --value flor-agent@$1)"; }
refused() { if "$@"; then echo "not refused: $*"; exit 1; fi; }
nothing() { if [ -n "$1" ]; then echo "there is: $1"; exit 1; fi; }
`

// does runs one step as root, and returns what it printed. Each line that fails
// ends the test.
func (h *systemdHost) does(what, lines string, says ...string) {
	h.t.Helper()
	h.step(what, "systemctl=systemctl\n"+prelude+"cd /root\nexport RETECTL_HOME=/root/keys\n"+lines, says)
}

// carolDoes is does for an ordinary user of the machine.
func (h *systemdHost) carolDoes(what, lines string, says ...string) {
	h.t.Helper()
	const as = "setpriv --reuid=4242 --regid=4242 --clear-groups env -i " +
		"HOME=/home/carol RETECTL_HOME=/home/carol/keys XDG_RUNTIME_DIR=/run/user/4242 PATH=/home/carol/.local/bin:/usr/bin:/bin"
	h.step(what, "cd /home/carol\n"+as+" sh -eu <<'LINES'\nsystemctl='systemctl --user'\n"+prelude+lines+"\nLINES\n", says)
}

func (h *systemdHost) step(what, lines string, says []string) {
	h.t.Helper()
	began := time.Now()
	out, err := h.Shell(h.t.Context(), lines)
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", what, err, out)
	}
	for _, words := range says {
		if !strings.Contains(out, words) {
			h.t.Errorf("%s: printed\n%s\nwant %q", what, out, words)
		}
	}
	h.t.Logf("%-70s %v", what, time.Since(began).Round(time.Millisecond))
}

// authors makes a rete whose management node and alpha are on this one machine,
// in scopes of their own, and a bundle for each.
const authors = `
retectl init demo --operator fyodor --node mgmt01 --address 127.0.0.1:$PORT --no-passphrase
cd demo
cat >nodes.yaml <<YAML
nodes:
  mgmt01: {socks5_proxy: 127.0.0.1:1081, vertices: [{name: public, kind: link, type: quic, address: 127.0.0.1:$PORT}]}
  alpha:  {socks5_proxy: 127.0.0.1:1083, vertices: [{name: public, kind: link, type: quic, address: 127.0.0.1:4434}]}
YAML
retectl compile
for m in mgmt01 alpha; do retectl issue-bundle --node $m --out ../$m.bundle; done
cd ..
`

// TestSystemdRunsTheAgentsOfAMachine follows agents under the real systemd, in
// system mode, from install to uninstall (INS-1, INS-2, INS-3, BND-2, BND-3).
func TestSystemdRunsTheAgentsOfAMachine(t *testing.T) {
	h := bootSystemd(t)
	h.does("flor install makes the account and starts nothing", `
/opt/shared/bin/flor install
id flor
nothing "$(systemctl list-units --all --no-legend 'flor-agent@*')"
systemctl cat flor-agent@demo >unit.txt`,
		"placed /usr/local/lib/systemd/system/flor-agent@.service", "next: flor enroll <bundle>")
	h.does("two nodes are authored", "PORT=443"+authors)
	h.does("flor enroll starts the agent and follows it to its first contact", `flor enroll mgmt01.bundle`,
		"systemd runs the agent of scope demo, now and from each boot on", "in contact; set v")
	h.does("a publish, and a second scope beside the first", `
(cd demo; retectl publish --direct http://127.0.0.1:9001)
flor enroll --as alpha alpha.bundle
until_healthy --rete demo
until_healthy --rete alpha
systemctl is-active flor-agent@demo flor-agent@alpha
systemctl is-enabled flor-agent@demo flor-agent@alpha`)
	h.does("one node reaches the other, at a port below 1024", `flor ping coordinator --rete alpha`, "ok          upstream")
	h.isUnhindered()
	h.recovers()
	h.isReplaced()
	h.does("flor agent disable and enable", `
flor agent disable --rete alpha
refused systemctl is-enabled flor-agent@alpha
refused systemctl is-active flor-agent@alpha
flor agent enable --rete alpha
until_healthy --rete alpha`, "will not be started any more", "will at each boot")
	h.does("flor uninstall --purge leaves nothing", `
flor uninstall --purge
nothing "$(systemctl list-units --all --no-legend 'flor-agent@*')"
nothing "$(find /usr/local /etc /run /var/lib -name '*flor*' -newer /opt/shared/bin/flor)"
nothing "$(pgrep -u flor)"`, "scope alpha is stopped and disabled", "scope demo is stopped and disabled", "the account flor stays")
}

// isUnhindered looks at what the unit takes away, and that agent and workloads do
// not miss it (INS-2, SUP-5).
func (h *systemdHost) isUnhindered() {
	h.t.Helper()
	h.does("the sandbox of the unit is shut, but for what is needed", `
for pid in $(main_pid demo) $(pgrep -x flor-vertex); do
  test $(stat -c %U /proc/$pid) = flor
  grep -q '^NoNewPrivs:.1$' /proc/$pid/status
  grep -q '^Seccomp:.2$' /proc/$pid/status
  grep -q '^CapEff:.0000000000000400$' /proc/$pid/status
  nsenter -t $pid -m sh -c '! test -w /usr && ! test -w /etc && test -w /var/lib/flor && test -w /run/flor'
done
test $(stat -c %a:%U /run/flor/demo/agent.sock) = 660:flor`)
	h.does("each workload is in a cgroup of its own", `
test "$(cat "$(group demo)/agent/cgroup.procs")" = $(main_pid demo)
for workload in flor coordinator; do test -n "$(cat "$(group demo)/w-$workload/cgroup.procs")"; done`)
	h.does("nobody warns of anything but that nothing was published yet", `
journalctl --sync
journalctl --no-pager -u 'flor-agent@*' | grep -q 'vertex serving'
nothing "$(journalctl --no-pager -p warning -u 'flor-agent@*' | grep -v 'coordinator gives no set\|^-- No entries')"`)
}

// recovers has agents end in every way that systemd takes differently.
func (h *systemdHost) recovers() {
	h.t.Helper()
	h.does("an agent that is killed is started again", `
before=$(main_pid demo)
kill -9 $before
until [ $(systemctl show -p NRestarts --value flor-agent@demo) = 1 ]; do sleep 0.05; done
until_healthy --rete demo
test $(main_pid demo) != $before`)
	h.does("at a boot both are started, and the runtime base is made", `
systemctl stop flor-agent@alpha
systemctl isolate basic.target
refused systemctl is-active flor-agent@demo flor-agent@alpha
rm -rf /run/flor
systemctl isolate multi-user.target
until_healthy --rete demo
until_healthy --rete alpha`)
	h.does("who cannot serve ends with 78, and is not tried again", `
systemctl stop flor-agent@alpha
mv /var/lib/flor/retes/alpha /var/lib/flor/aside
systemctl start flor-agent@alpha
until_state alpha failed
test $(systemctl show -p ExecMainStatus --value flor-agent@alpha) = 78
mv /var/lib/flor/aside /var/lib/flor/retes/alpha
flor agent enable --rete alpha
until_healthy --rete alpha`)
	h.does("who has no log ends with 69, and is tried until there is one", `
mkdir /etc/flor
printf '[log]\ndestination = "unix:/run/no-log"\n' >/etc/flor/config.toml
systemctl restart flor-agent@alpha
until_state alpha auto-restart
test $(systemctl show -p ExecMainStatus --value flor-agent@alpha) = 69
until [ $(systemctl show -p NRestarts --value flor-agent@alpha) -ge 2 ]; do sleep 0.05; done
rm -r /etc/flor
until_healthy --rete alpha`)
}

// isReplaced enrols and installs over agents that run.
func (h *systemdHost) isReplaced() {
	h.t.Helper()
	h.does("a re-enrolment stops and starts the agent", `
before=$(main_pid alpha)
(cd demo; retectl issue-bundle --node alpha --out ../again.bundle)
flor enroll --as alpha again.bundle
test $(main_pid alpha) != $before
until_healthy --rete alpha`, "the agent of scope alpha is stopped for the enrolment", "in contact")
	h.does("an install over what runs stops, swaps and starts both", `
mkdir new
cp /opt/shared/bin/* /opt/shared/lib/flor/* new/
for program in new/*; do echo newer >>$program; done
before=$(main_pid alpha)
new/flor install
cmp new/flor /usr/local/bin/flor
test $(main_pid alpha) != $before
until_healthy --rete demo
until_healthy --rete alpha
rm -r new`, "scope alpha was stopped for the change and runs again", "scope demo was stopped for the change and runs again")
	h.does("an agent that was started by hand is left alone", `
flor agent disable --rete alpha
setpriv --reuid=flor --regid=flor --clear-groups flor agent run --rete alpha --log-stderr >by-hand.txt 2>&1 &
hand=$!
until_healthy --rete alpha
refused flor agent enable --rete alpha
refused /opt/shared/bin/flor install
kill $hand
wait $hand
flor agent enable --rete alpha
until_healthy --rete alpha`, "FL2609 runs-by-hand: process")
}

// TestSystemdRunsTheAgentOfAUser is the same in user mode, with the manager that
// is the user's own.
func TestSystemdRunsTheAgentOfAUser(t *testing.T) {
	h := bootSystemd(t)
	h.does("a user logs in", `
groupadd -g 4242 carol
useradd -m -u 4242 -g 4242 carol
systemctl start user@4242`)
	h.carolDoes("flor install", "/opt/shared/bin/flor install", "placed /home/carol/.local/share/systemd/user/flor-agent@.service")
	h.carolDoes("flor enroll starts the agent", "PORT=4433"+authors+`
flor enroll mgmt01.bundle
(cd demo; retectl publish --direct http://127.0.0.1:9001)
until_healthy`, "systemd runs the agent of scope demo, now and from each login on", "loginctl enable-linger carol", "in contact; set v")
	h.carolDoes("it is hardened, and each workload is in a cgroup of its own", `
grep -q '^NoNewPrivs:.1$' /proc/$(main_pid demo)/status
grep -q '^Seccomp:.2$' /proc/$(main_pid demo)/status
test "$(cat "$(group demo)/agent/cgroup.procs")" = $(main_pid demo)
for workload in flor coordinator; do test -n "$(cat "$(group demo)/w-$workload/cgroup.procs")"; done`)
	h.carolDoes("it is started again when it is killed", `
before=$(main_pid demo)
kill -9 $before
until [ $($systemctl show -p NRestarts --value flor-agent@demo) = 1 ]; do sleep 0.05; done
until_healthy
test $(main_pid demo) != $before`)
	h.does("a logout ends it, a login starts it", `
systemctl stop user@4242
nothing "$(pgrep -u carol)"
systemctl start user@4242`)
	h.carolDoes("flor agent disable and enable", `
until_healthy
flor agent disable
refused $systemctl is-active flor-agent@demo
flor agent enable
until_healthy`)
	h.carolDoes("flor uninstall --purge leaves nothing", `
flor uninstall --purge
nothing "$($systemctl list-units --all --no-legend 'flor-agent@*')"
nothing "$(find .local .config /run/user/4242 -name '*flor*')"`)
}
