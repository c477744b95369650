//go:build !race

package guardtest

const keys = 2000
