package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// define judges statements that change the schema: a name makes the second one fail.
func (j *judge) define(d *tree.Define) Judgement {
	if d.Unreadable != "" {
		return judged(CannotTell, Opaque, "the definition is not understood: "+d.Unreadable)
	}
	switch {
	case d.Kind == "truncate" && j.fires(d):
		return judged(CannotTell, Triggered, "a trigger may wait for TRUNCATE")
	case d.Kind == "truncate":
		return judged(Safe, Deletes, "an empty table stays empty")
	case d.Kind == "create index" && d.Name.Name == "" && (d.Index == nil || d.Index.Name == ""):
		return guardedBy(judged(NotSafe, Undefined, "an index without a name is made once more under another one"), "name the index")
	case d.Kind == "alter table":
		return alter(d)
	case strings.HasPrefix(d.Kind, "drop "):
		return judged(Safe, Definition, "a second run finds nothing to drop")
	case strings.HasPrefix(d.Kind, "create ") && d.Guarded:
		return judged(Safe, Definition, "a second run finds the object and does nothing, or makes the same one")
	case d.Kind == "create table", d.Kind == "create index", d.Kind == "create view", d.Kind == "create trigger", d.Kind == "create sequence", d.Kind == "create function", d.Kind == "create schema", d.Kind == "create type":
		return judged(Safe, Definition, "a second run is refused: the object exists")
	}
	return judged(CannotTell, Opaque, "what "+d.Kind+" does twice is not known")
}

// fires reports whether a table that is emptied has a trigger that no other statement fires.
func (j *judge) fires(d *tree.Define) bool {
	return slices.ContainsFunc(append([]tree.Name{d.Name}, d.Others...), func(name tree.Name) bool {
		t := j.schema.Table(name)
		return t != nil && (t.Rules || slices.ContainsFunc(t.Triggers, func(one *tree.Trigger) bool {
			return !one.EachRow && !one.Insert && !one.Update && !one.Delete || one.Unknown != ""
		}))
	})
}

func alter(d *tree.Define) Judgement {
	res := judged(Safe, Definition, "a second run is refused, or changes nothing")
	if len(d.Changes) == 0 {
		return judged(CannotTell, Opaque, "the change of the table is not understood")
	}
	kinds := map[string]int{}
	for _, c := range d.Changes {
		if kinds[c.Kind]++; c.Kind == "alter column" && c.To != "" {
			kinds["rename column"]++
		}
	}
	if kinds["rename column"]+kinds["rename table"] > 1 || kinds["drop column"] > 0 && kinds["add column"] > 0 {
		return judged(CannotTell, Undefined, "a second run may exchange the names again, or make the column anew")
	}
	for _, c := range d.Changes {
		switch {
		case c.Kind == "add constraint" && c.Name == "":
			primary := c.Key != nil && c.Key.Primary
			if !primary {
				res = worse(res, guardedBy(judged(NotSafe, Undefined, "a constraint without a name is added once more under another one"), "name the constraint"))
			}
		case c.Kind == "add column", c.Kind == "drop column", c.Kind == "add constraint", c.Kind == "drop constraint", c.Kind == "rename column", c.Kind == "rename table":
		default:
			if !c.Known || c.Kind == "alter column type" {
				res = worse(res, judged(CannotTell, Opaque, "what "+c.Kind+" does twice is not known"))
			}
		}
	}
	return res
}
