package mysql

import "github.com/semel-dev/semel/lint/internal/tree"

// unread says of a statement that cannot be translated at least which table it makes or changes,
// so that nothing is believed of that table.
func (s *source) unread(why string) tree.Statement {
	r := &header{source: s}
	opaque := &tree.Opaque{Why: why}
	switch r.next() {
	case "create":
		for range maxHeader {
			switch r.next() {
			case "table":
				return r.table("create table", why)
			case "trigger":
				if d := r.trigger(why); d != nil {
					return d
				}
				return opaque
			case "view", "procedure", "function", "event", "index", "select", "(", "":
				return opaque
			}
		}
	case "alter":
		for range maxHeader {
			switch r.next() {
			case "table":
				return r.table("alter table", why)
			case "online", "offline", "ignore":
			default:
				return opaque
			}
		}
	}
	return opaque
}

// maxHeader bounds the words before the one that says what is made.
const maxHeader = 16

// header reads the first words of a statement.
type header struct {
	*source
	at int
}

// next returns the next token.
func (h *header) next() string {
	h.at++
	return h.word(h.at - 1)
}

// skip passes over the tokens if they are next.
func (h *header) skip(words ...string) bool {
	for i, w := range words {
		if h.word(h.at+i) != w {
			return false
		}
	}
	h.at += len(words)
	return true
}

// name reads the name of an object.
func (h *header) name() (tree.Name, bool) {
	one := func() (string, bool) {
		if h.at >= len(h.tokens) {
			return "", false
		}
		t := h.tokens[h.at]
		h.at++
		return unquote(h.text[t.start:t.end]), t.kind == word || t.kind == name
	}
	first, ok := one()
	if !ok || !h.skip(".") {
		return tree.Name{Name: first}, ok
	}
	second, ok := one()
	return tree.Name{Schema: first, Name: second}, ok
}

func (h *header) table(kind, why string) tree.Statement {
	guarded := h.skip("if", "not", "exists") || h.skip("if", "exists")
	called, ok := h.name()
	if !ok {
		return &tree.Opaque{Why: why}
	}
	d := &tree.Define{Kind: kind, Name: called, Guarded: guarded, Unreadable: why}
	if kind == "create table" {
		d.Table = &tree.Table{Name: called, Unknown: why}
	} else {
		d.Changes = []tree.Change{{Kind: "other"}}
	}
	return d
}

// trigger reads when a trigger runs; nil if even that is not known.
func (h *header) trigger(why string) tree.Statement {
	guarded := h.skip("if", "not", "exists")
	called, ok := h.name()
	if !ok {
		return nil
	}
	tr := &tree.Trigger{Name: called.Name, Before: h.skip("before"), EachRow: true, Unknown: why}
	if !tr.Before && !h.skip("after") {
		return nil
	}
	for more := true; more; more = h.skip("or") {
		switch h.next() {
		case "insert":
			tr.Insert = true
		case "update":
			tr.Update = true
		case "delete":
			tr.Delete = true
		default:
			return nil
		}
	}
	if !h.skip("on") {
		return nil
	}
	table, ok := h.name()
	if !ok {
		return nil
	}
	return &tree.Define{
		Kind: "create trigger", Name: called, Guarded: guarded, Table: &tree.Table{Name: table}, Trigger: tr, Unreadable: why,
	}
}
