package rules

import "github.com/semel-dev/semel/internal/rules/yamlfile"

// Position is a place in a rules file: Line and Column count from 1.
type Position = yamlfile.Position

// Problem is one thing that is wrong with a rules file: its File and Position, a Message that says what
// is wrong, and a Fix that says what to do about it. String writes file:line:column: message (fix).
type Problem = yamlfile.Problem

// Error holds all Problems of a file, in its order, and lists them one per line. [Parse] and [Load]
// return it.
type Error = yamlfile.Error
