// Package program is the supervised-program contract as a library: what a
// program gets from the flor agent that runs it, and what it owes in return
// (SUP-1 … SUP-4, SUP-11). Tenants use it through [Main]; the platform's own
// programs through [Program], which adds flags for running them by hand.
package program
