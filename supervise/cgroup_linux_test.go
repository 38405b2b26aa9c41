package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
34 31 0:31 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:3 master:1 - cgroup2 cgroup2 rw
`

// SUP-5: found by what the kernel says, wherever it is mounted.
func TestTheOwnCgroupIsFound(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, cgroups, mounts, want string }{
		{"a unified hierarchy", "0::/system.slice/a.service\n",
			"26 20 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/system.slice/a.service"},
		{"beside version 1", "4:memory:/x\n0::/a\n", hybrid, "/sys/fs/cgroup/unified/a"},
		{"in a namespace", "0::/\n", hybrid, "/sys/fs/cgroup/unified"},
		{"a part of it is mounted", "0::/pod/a\n", "1 0 0:1 /pod /cg rw - cgroup2 none rw\n", "/cg/a"},
		{"exactly it is mounted", "0::/pod\n", "1 0 0:1 /pod /cg rw - cgroup2 none rw\n", "/cg"},
		{"a name that begins alike is another", "0::/pods\n", "1 0 0:1 /pod /cg rw - cgroup2 none rw\n", ""},
		{"the second mount shows it", "0::/b\n", "1 0 0:1 /a /x rw - cgroup2 n rw\n2 0 0:1 / /y rw - cgroup2 n rw\n", "/y/b"},
		{"a space in the path", "0::/a\n", `1 0 0:1 / /my\040cg rw - cgroup2 none rw` + "\n", "/my cg/a"},
		{"version 1 only", "4:memory:/x\n", hybrid, ""},
		{"not mounted", "0::/a\n", "26 20 0:23 / / rw - ext4 /dev/sda rw\n", ""},
		{"outside of the namespace", "0::/../a\n", hybrid, ""},
		{"cut short", "0::", "1 0\n - cgroup2\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := findCgroup(tt.cgroups, tt.mounts)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// SUP-5: the root is everybody's.
func TestTheRootCgroupIsNotUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	touch("cgroup.procs") // all that the root has of these
	if err := usableCgroup(dir); err == nil || !strings.Contains(err.Error(), "cgroup.kill") {
		t.Errorf("the root: %v", err)
	}
	touch("cgroup.kill")
	if err := usableCgroup(dir); err != nil {
		t.Errorf("another: %v", err)
	}
}

func FuzzFindCgroup(f *testing.F) {
	f.Add("0::/a\n", hybrid)
	f.Add("0::/../..\n", "1 0 0:1 / / - cgroup2\n")
	f.Fuzz(func(t *testing.T, cgroups, mounts string) {
		if dir, err := findCgroup(cgroups, mounts); err == nil && filepath.Clean(dir) != dir {
			t.Errorf("an odd path: %q", dir)
		}
	})
}
