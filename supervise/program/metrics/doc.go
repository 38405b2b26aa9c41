// Package metrics gives a supervised program counters: a registry, the handler
// that its control channel serves, and the lines it writes to the log (OBS-6).
// It is apart from program so that a program without counters does not carry
// prometheus.
package metrics
