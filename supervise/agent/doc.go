// Package agent is the flor agent.
package agent
