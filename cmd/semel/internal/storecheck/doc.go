// Package storecheck finds out which promises a live store keeps: it works in a
// scratch part of the user's own database, with real races, and says in plain
// words what held and what did not. What was not seen to break is not proven.
package storecheck
