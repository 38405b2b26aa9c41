package trial

// Descendant is a process that a program has started.
type Descendant struct {
	PID, Group int
	Name       string
	Environ    string // NAME=value, a zero byte after each

	ended bool // and is not yet waited for
}
