// Package operatorview is what every operator's door shares, so that the command line
// and the admin API say the same of a record and understand the same verdict:
// the JSON views of a record and of an audit entry, the search for records, and
// the [semel.Settlement] that a [Verdict] means.
package operatorview
