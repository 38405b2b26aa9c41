package agent

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// Who has an address is found by what the kernel tells, whatever the family and
// also where all addresses are taken.
func TestTheOccupantOfAnAddress(t *testing.T) {
	t.Parallel()
	for _, at := range []struct{ network, listen, wanted string }{
		{"tcp4", "127.0.0.1:0", "127.0.0.1"}, {"tcp4", "0.0.0.0:0", "127.0.0.1"}, {"tcp", ":0", "127.0.0.1"}, {"tcp6", "[::1]:0", "::1"},
	} {
		l, err := net.Listen(at.network, at.listen)
		if err != nil {
			t.Logf("%s is not there: %v", at.listen, err)
			continue
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		entry := net.JoinHostPort(at.wanted, port)
		if by := occupant(entry); !strings.HasSuffix(by, fmt.Sprintf(", process %d", os.Getpid())) {
			t.Errorf("%s: by %q", entry, by)
		}
		if by := occupant("udp " + entry); by != "" {
			t.Errorf("the UDP port: by %q", by)
		}
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if by := occupant("udp " + packets.LocalAddr().String()); !strings.HasSuffix(by, fmt.Sprintf(", process %d", os.Getpid())) {
		t.Errorf("a UDP port: by %q", by)
	}
	packets.Close()
	for _, entry := range []string{packets.LocalAddr().String(), "udp " + packets.LocalAddr().String(), "identity spiffe://demo/user/ann", "udp any port", "a publish: v3 was damaged"} {
		if by := occupant(entry); by != "" {
			t.Errorf("%s: by %q", entry, by)
		}
	}
}

// A socket of another account is told by the account.
func TestASocketInATable(t *testing.T) {
	t.Parallel()
	const table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:0438 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4026539999 1 0 100 0 0 10 0\n" +
		"   1: 0200007F:0439 0100007F:0438 01 00000000:00000000 00:00000000 00000000     0        0 7 1 0 100 0 0 10 0\n" +
		"   2: cut short\n"
	for addr, want := range map[string]string{"127.0.0.1:1080": "a process of uid 1000", "127.0.0.2:1080": "", "127.0.0.2:1081": ""} {
		got := ""
		if s, ok := socketAt(table, "tcp", netip.MustParseAddrPort(addr)); ok {
			got = s.owner()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
}

func FuzzSocketAt(f *testing.F) {
	f.Add("0: 0100007F:0438 0 0A 0 0 0 0 0 1\n")
	f.Add("0: 0000000000000000FFFF00000100007F:0438 0 0A 0 0 0 0 0 1\n")
	f.Add("0: 01:1 0 0A 0 0 0 0 0 1\n")
	f.Fuzz(func(t *testing.T, table string) {
		socketAt(table, "tcp", netip.MustParseAddrPort("127.0.0.1:1080"))
	})
}
