package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// occupant tells by whom an address is in use that a workload waits for, in words
// that end a sentence; empty where it is in use by nobody, or no address. The
// kernel shows everybody which addresses are listened on and by whose account, and
// the process to that account and to root.
func occupant(entry string) string {
	network, addr := addressOf(entry)
	wanted, err := netip.ParseAddrPort(addr)
	if err != nil {
		return ""
	}
	for _, table := range []string{network, network + "6"} {
		text, _ := os.ReadFile("/proc/net/" + table)
		if s, ok := socketAt(string(text), network, wanted); ok {
			return s.owner()
		}
	}
	return ""
}

// localSocket is a socket that waits for peers.
type localSocket struct{ inode, uid string }

// owner names the process that has the socket, as far as it can be seen.
func (s localSocket) owner() string {
	link := "socket:[" + s.inode + "]"
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, path := range descriptors {
		if target, err := os.Readlink(path); err != nil || target != link {
			continue
		}
		process := filepath.Dir(filepath.Dir(path))
		command, _ := os.ReadFile(filepath.Join(process, "comm"))
		return fmt.Sprintf("%s, process %s", printable(command), filepath.Base(process))
	}
	return "a process of uid " + s.uid
}

// printable is the name of a program, which gives itself what name it wants.
func printable(command []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, string(bytes.TrimSpace(command)))
}

// socketAt finds in a table of /proc/net the socket that keeps everybody else from
// an address: one on it, or on all addresses with its port.
func socketAt(table, network string, wanted netip.AddrPort) (localSocket, bool) {
	waits := map[string]string{"tcp": "0A", "udp": "07"}[network]
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != waits {
			continue
		}
		local, err := parseLocal(fields[1])
		if err == nil && local.Port() == wanted.Port() && overlap(local.Addr(), wanted.Addr()) {
			return localSocket{inode: fields[9], uid: fields[7]}, true
		}
	}
	return localSocket{}, false
}

func overlap(a, b netip.Addr) bool {
	return a.IsUnspecified() || b.IsUnspecified() || a.Unmap() == b.Unmap()
}

// parseLocal reads an address as the kernel writes it: words of four bytes, each
// as a number of this machine, a colon and the port.
func parseLocal(text string) (netip.AddrPort, error) {
	addr, port, _ := strings.Cut(text, ":")
	words, err := hex.DecodeString(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for word := range slices.Chunk(words[:len(words)/4*4], 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(words)
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, fmt.Errorf("unknown form of a local address: %q", text)
	}
	return netip.AddrPortFrom(ip, uint16(number)), nil
}
