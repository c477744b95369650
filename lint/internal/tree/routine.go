package tree

import "slices"

// Routine describes a function of a schema. CREATE TRIGGER names one in PostgreSQL, and the
// two are joined by [Routine.Join].
type Routine struct {
	Name       Name
	Arguments  []string // their types, those that it returns included
	Volatility string   // "volatile", "stable" or "immutable"
	Trigger    bool     // it returns trigger
	Sets       []Assign // NEW.c := e
	Body       []Statement
	Reordered  bool   // its assignments happen under conditions, or one sees another
	Unknown    string // why Body and Sets are not all of it
	// Returns holds what a trigger function returns: "new", "old", "null" or "other".
	Returns []string
	// Does holds all statements and expressions of the body, whatever leads to them, and Hides why it may do more.
	Does  []Statement
	Hides string
}

// Join gives the trigger the body of the function that it calls.
func (r *Routine) Join(t *Trigger) {
	t.Sets, t.Body, t.Reordered, t.Unknown, t.Does, t.Hides = r.Sets, r.Body, r.Reordered, r.Unknown, r.Does, r.Hides
	if t.Unknown != "" {
		return
	}
	if !r.Trigger {
		t.Unknown = "function " + r.Name.Name + " does not return trigger"
		return
	}
	wanted := "new"
	if t.Delete && (t.Insert || t.Update) {
		wanted = ""
	} else if t.Delete {
		wanted = "old"
	}
	decides := t.EachRow && (t.Before || t.Instead)
	if decides && (wanted == "" || slices.ContainsFunc(r.Returns, func(s string) bool { return s != wanted })) {
		t.Unknown = "function " + r.Name.Name + " may leave out or replace the row"
	}
	if len(r.Sets) == 0 || t.EachRow && t.Before {
		return
	}
	t.Sets = nil // assignments to NEW have no effect after the row is written
	if len(r.Body) > 0 {
		t.Unknown = "function " + r.Name.Name + " may use what it assigned to NEW"
	}
}
