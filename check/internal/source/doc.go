// Package source reads the request under test from the forms that people have at hand:
// flags like those of curl, a curl command line, a browser's recording (HAR), an
// OpenAPI document, or a file of requests (.http, .rest).
//
//	Flags ─────┐
//	Curl ──────┤ words → options → one command ─┐
//	HAR ───────┤ entry ─────────────────────────┤
//	OpenAPI ───┤ operation → examples, schema ──┼─ Request: template, reach, notes
//	HTTPFile ──┘ block → variables ─────────────┘
//
// Each results in a [Request]: the template, the way to reach the service, and notes about what was left out or is still
// needed. Header lines that belong to a single connection or attempt are removed: lengths, hop-by-hop lines, the encodings a
// client would undo, the recorded key, and a webhook's signature.
//
// Nothing is sent, and no source is executed: a shell variable becomes {{var:NAME}}, $(uuidgen) becomes {{uuid}}, and every
// other command is refused. Files are opened only if a source names them, as curl would, and only regular ones. At most
// [MaxBytes] are read.
package source
