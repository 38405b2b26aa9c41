// Package systemd boots a Linux machine whose process 1 is systemd, to try what
// service managers do with our units: the host itself need not run systemd, and
// must not notice.
//
// A machine is made of namespaces: processes, network, mounts, host name, IPC and
// cgroups of its own. Its files are the host's, but whatever is written or removed
// happens in memory and is gone with the machine; nothing of the host's /tmp, /run
// and /dev is there. It has no units but a few targets and the journal, so that a
// boot does nothing to anything, and no capability that reaches past namespaces
// (clock, kernel modules, devices). [Boot] returns when systemd is up, which takes
// about a second; [Machine.Command] is a command in it, as root; [Machine.Boot]
// boots the same files again, [Machine.Close] ends it.
//
// It needs root, and a kernel with overlayfs and cgroup v2; [Unavailable] says why
// it cannot be had. The package is empty on other systems than Linux.
package systemd
