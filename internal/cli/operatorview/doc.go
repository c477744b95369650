// Package operatorview is shared by the command line and the admin API, so that both
// show a record alike and accept the same verdicts: the JSON views of a record and of
// an audit entry, the search for records, and the [semel.Settlement] that a [RecordVerdict]
// means.
package operatorview
