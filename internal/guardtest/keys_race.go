//go:build race && !long

package guardtest

const (
	keys            = 100
	raceInSnapshots = false
)
