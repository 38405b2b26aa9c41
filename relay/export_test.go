package relay

// Watching counts the questions that are being held.
func Watching(r *Relay) int {
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	n := 0
	for _, watchers := range r.watches.byNode {
		n += len(watchers)
	}
	return n
}
