//go:build !race && !long

package guardtest

const (
	keys            = 80
	raceInSnapshots = true
)
