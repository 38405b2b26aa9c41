// Package schema has the payload families of the contract: agent and vertex.
package schema
