package trial

// Descendants lists nothing: what a process descends from, and its environment,
// are not to be had here without privileges.
func Descendants(int) []Descendant { return nil }
