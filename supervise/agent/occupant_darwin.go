package agent

// occupant knows nothing here: who has an address is told to root alone.
func occupant(string) string { return "" }
