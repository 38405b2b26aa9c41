package supervise

// IdentifyForTest tells what the record of a process holds.
func IdentifyForTest(pid int) (ticks uint64, boot string, err error) {
	c, err := identify("", pid)
	return c.StartTicks, c.BootID, err
}
