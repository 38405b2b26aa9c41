package relay

// Watching counts the questions that are being held.
func Watching(r *Relay) int { return r.watches.count() }
