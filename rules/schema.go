package rules

import _ "embed"

//go:embed semel.schema.json
var schema string

// Schema returns the JSON schema (draft 2020-12) of rules files, for editors: it
// knows every key and what kind of value each takes. What keys say together,
// [Parse] judges.
func Schema() []byte { return []byte(schema) }
