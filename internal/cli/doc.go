// Package cli has what every verb of the command semel shares: its streams and exit codes, its flags, and how it prints text,
// tables and progress.
package cli
