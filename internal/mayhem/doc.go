// Package mayhem holds what programs that break things on purpose share: child
// processes that are killed or stopped at any instant, databases that crash,
// whose connections are cut and whose replies are lost, and the pace of it.
package mayhem
