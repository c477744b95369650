//go:build race && !long

package guardtest

const (
	keys            = 25
	raceInSnapshots = false
)
