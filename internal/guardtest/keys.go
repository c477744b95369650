//go:build !race && !long

package guardtest

const (
	keys            = 200
	raceInSnapshots = true
)
