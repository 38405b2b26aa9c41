package diag

// Sources has the texts that diagnostics point into, by file name.
type Sources map[string][]byte
