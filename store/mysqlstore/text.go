package mysqlstore

import "strings"

// ways are the shortest ways to insert that server and pool allow.
type ways struct {
	returning bool // INSERT … RETURNING
	together  bool // two statements in one round trip
	bounded   bool // a statement that says how long it waits for locks
}

// text composes the statement of a name, for n rows.
func (s *Store) text(name string, n int) (string, error) {
	d := s.dialect
	outcome := "outcome"
	if name == "list" {
		outcome = "NULL"
	}
	columns, err := d.sql("columns", 0, "outcome", outcome)
	if err != nil {
		return "", err
	}
	switch name {
	case "claim", "claim_together", "claim_many":
		return s.claimText(name, n, columns)
	case "list_outcomes":
		name = "list"
	}
	return d.sql(name, n, "columns", columns, "open", "TRUE")
}

// claimText composes an insertion of n rows.
func (s *Store) claimText(name string, n int, columns string) (string, error) {
	row, err := s.dialect.sql("claim_row", 0)
	if err != nil {
		return "", err
	}
	text, err := s.dialect.sql("claim", 0, "rows", list(row, ", ", n))
	if err != nil {
		return "", err
	}
	var layers []string
	switch {
	case name == "claim" && s.ways.returning:
		layers = []string{"claim_returning"}
	case name == "claim_together":
		layers = []string{"claim_together"}
	case name == "claim_many" && s.ways.returning:
		layers = []string{"claim_many", "claim_many_returning"}
	case name == "claim_many":
		layers = []string{"claim_many"}
	}
	for _, layer := range layers {
		inner := strings.TrimSuffix(layer, "_returning")
		if inner == layer {
			inner = "claim"
		}
		if text, err = s.dialect.sql(layer, 0, inner, text, "columns", columns); err != nil {
			return "", err
		}
	}
	return text, nil
}
