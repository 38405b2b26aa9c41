//go:build race

package main

// raceDetector: it needs memory of its own, so that limits on memory mean nothing.
const raceDetector = true
