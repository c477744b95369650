//go:build long

package guardtest

const (
	keys            = 2000
	raceInSnapshots = true
)
