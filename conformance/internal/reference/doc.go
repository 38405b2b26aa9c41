// Package reference answers vectors with this module's own packages, the way
// an implementer's verifier answers them on its command line (CNF-2).
package reference
