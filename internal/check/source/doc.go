// Package source reads the request under test from what people have at hand:
// flags as curl has them, a curl command line, a browser's recording (HAR), an
// OpenAPI document, or a file of requests (.http, .rest).
//
//	Flags ─────┐
//	Curl ──────┤ words → options → one command ─┐
//	HAR ───────┤ entry ─────────────────────────┤
//	OpenAPI ───┤ operation → examples, schema ──┼─ Request: template, reach, notes
//	HTTPFile ──┘ block → variables ─────────────┘
//
// All of them end in a [Request]: the template, how the service must be
// reached, and notes about what was left out or is needed still. What belongs
// to one connection or one attempt only is taken out of the header: lengths,
// hop-by-hop lines, the encodings a client would undo, the key of the intent
// that was recorded, and a webhook's signature.
//
// Nothing is sent, and nothing of a source is run: a shell's variable becomes
// {{var:NAME}}, $(uuidgen) becomes {{uuid}}, and every other command is refused.
// Files are opened only where a source names them, as curl would open them, and
// only regular ones. What is read has [MaxBytes] at most.
package source
