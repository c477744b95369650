package operatorview

import "github.com/semel-dev/semel/outcomelog/archive"

// LogEntry is an entry of the outcome log in JSON. Its fields are a contract: new ones may come, none changes its meaning.
type LogEntry struct {
	Time    string   `json:"time"`
	Door    string   `json:"door"`
	Outcome string   `json:"outcome"`
	Digest  string   `json:"digest"` // of the key
	Route   string   `json:"route"`
	Rule    string   `json:"rule"`
	Fields  []string `json:"fields"`
	Status  int      `json:"status"`
	Made    string   `json:"made"`
}

// ViewLogEntry returns the entry as JSON shows it.
func ViewLogEntry(e *archive.Entry) LogEntry {
	v := LogEntry{Time: Time(e.At), Door: string(e.Door), Outcome: string(e.Outcome), Digest: e.Key, Route: e.Route, Rule: e.Rule, Fields: e.Fields, Status: e.Status, Made: e.Made}
	if v.Fields == nil {
		v.Fields = []string{} // [] in JSON, not null
	}
	return v
}
