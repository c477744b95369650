// Package near finds rows that may be duplicates although no uniqueness rule says so: the same name in other letters, the same
// phone number written otherwise. It decides nothing. What it finds goes into a file in which a person writes, group by group,
// which row stays and which are merged into it; semel dedupe plan reads that file.
package near
