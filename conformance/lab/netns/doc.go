// Package netns makes hosts with networks of their own on one Linux machine:
// network namespaces, joined by virtual cables and switches. Tests of whole
// retes run programs on them, cut cables, and see what users see.
//
// [NewSwitch] makes a switch, [Switch.Host] a host on it with an address, and
// [Switch.Join] a cable between two switches, whose cut is a partition. A host
// runs commands ([Namespace.Start]) and opens sockets for the calling process
// ([Namespace.DialContext], [Namespace.ListenTCP], [Namespace.ListenUDP]). Every host
// has its own loopback, so that all of them may use the same ports.
//
// Namespaces have no names: nothing appears in the machine's own network or in
// `ip netns list`, and the kernel removes them when the process that made them
// and all programs on them have ended, however they end. Everything in them is
// made by ip and tc of iproute2. [Namespace.PullPlug] is a power cut.
//
// It needs root; [Unavailable] says why it cannot be had. The package is empty
// on other systems than Linux.
package netns
