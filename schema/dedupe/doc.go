// Package dedupe merges the rows of a table that are duplicates by a uniqueness rule, and everything that hangs on them, so
// that nothing is lost and everything can be taken back.
//
//	Plan ──▶ Run (batch, batch, …) ──▶ Undo
//
// A plan finds the groups, chooses each winner and lists what refers to the losers. A run writes the losers and their winners
// to semel_dedupe_map, and merges them in batches of whole groups, each of which is one transaction of the application's
// database: it locks the rows, decides the fate of each (see fate.go), writes the audit, moves references, marks or deletes
// losers, and marks its groups in the map as merged. Killed at any instant, a batch has happened or it has not, and the next
// call of the same plan goes on with the groups that are open.
//
// References that move can make rows of other tables the same by their own unique keys; these are merged as well, to any
// depth. What a group does not allow (a circle of references, a value that would change, a trigger that raises) refuses that
// group with its reason; the others are merged.
package dedupe
