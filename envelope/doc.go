// Package envelope is the signed format of Florete.
package envelope
