package gocheck

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint"
)

// graph is the whole program, as package main sees it.
type graph struct {
	functions  map[string]*function
	interfaces map[string]contract
	types      []implementation
	declared   []string
	resolved   map[edge]string // interface methods that only one type implements
}

func newGraph(p *program) *graph {
	g := &graph{functions: map[string]*function{}, interfaces: map[string]contract{}, resolved: map[edge]string{}}
	for _, s := range p.Packages {
		for _, f := range s.Functions {
			g.functions[f.ID] = f
		}
		for _, i := range s.Interfaces {
			g.interfaces[i.ID] = i
		}
		g.types = append(g.types, s.Types...)
		g.declared = append(g.declared, s.Declared...)
	}
	return g
}

// target returns the function that an edge leads to, or nil.
func (g *graph) target(e edge) *function {
	if e.Interface == "" {
		return g.functions[e.To]
	}
	e.Line = 0
	id, known := g.resolved[e]
	if !known {
		id = g.resolve(e)
		g.resolved[e] = id
	}
	return g.functions[id]
}

// resolve returns the method behind that of an interface, if only one type has it.
func (g *graph) resolve(e edge) (id string) {
	wanted := g.interfaces[e.Interface].Methods
	count := 0
	for _, t := range g.types {
		if len(wanted) == 0 || slices.ContainsFunc(wanted, func(m method) bool { return !t.has(m) }) {
			continue
		}
		count++
		for _, m := range t.Methods {
			if m.Name == e.To {
				id = m.Function
			}
		}
	}
	if count != 1 {
		return ""
	}
	return id
}

func (t implementation) has(m method) bool {
	return slices.ContainsFunc(t.Methods, func(n method) bool { return n.Name == m.Name && n.Signature == m.Signature })
}

// wraps reports whether a maker of handlers returns them behind a guard.
func (g *graph) wraps(id string, seen map[string]bool) bool {
	if id == "" {
		return true
	}
	f := g.functions[id]
	if f == nil || seen[id] {
		return false
	}
	seen[id] = true
	return slices.ContainsFunc(f.Wraps, func(next string) bool { return g.wraps(next, seen) })
}

// guarded reports whether a route passes a guard before its handler.
func (g *graph) guarded(r *route) bool {
	return r.Handler.Guarded || slices.ContainsFunc(r.Handler.Calls, func(e edge) bool {
		f := g.target(e)
		return f != nil && (f.Guarded || g.wraps(f.ID, map[string]bool{}))
	})
}

// visit is one function on the way from a handler to a statement.
type visit struct {
	f    *function
	from *visit
}

// reach returns the shortest way from a handler to its worst write, and how many more writes it reaches.
func (g *graph) reach(start *function) (end *visit, w write, more int) {
	queue, seen := []*visit{{f: start}}, map[*function]bool{start: true}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, one := range s.f.Writes {
			if one.Verdict > w.Verdict {
				end, w = s, one
			}
			more++
		}
		for _, e := range s.f.Calls {
			next := g.target(e)
			if next == nil || seen[next] || next.Guarded || next.Registers { // the routes of a router are looked at on their own
				continue
			}
			seen[next] = true
			queue = append(queue, &visit{f: next, from: s})
		}
	}
	return end, w, more - 1
}

// handlers returns a finding for each route that reaches a write and passes no guard.
func (g *graph) handlers(p *program) (found []lint.Finding) {
	for _, s := range p.Packages {
		for _, name := range s.Wrappers {
			if g.wraps(name, map[string]bool{}) {
				return nil
			}
		}
	}
	for _, s := range p.Packages {
		for _, r := range s.Routes {
			if g.guarded(r) || slices.Contains(g.declared, r.Method) {
				continue
			}
			if end, w, more := g.reach(r.Handler); end != nil {
				found = append(found, unguarded(r, end, w, more))
			}
		}
	}
	return found
}

func unguarded(r *route, end *visit, w write, more int) lint.Finding {
	var way []string
	for s := end; s.from != nil; s = s.from {
		way = append(way, fmt.Sprintf("%s (%s)", s.f.Name, s.f.At))
	}
	slices.Reverse(way)
	way = append(way, fmt.Sprintf("%s (%s)", w.Text, w.At))
	why := fmt.Sprintf("%s has no guard, and each repetition of the request runs a write that %s: %s", r.What, what(w), strings.Join(way, " → "))
	if more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	f := lint.Finding{
		File: r.At.File, Line: r.At.Line, Column: r.At.Column, Text: r.Text, Verdict: w.Verdict, Rule: UnguardedHandler, Why: why,
		Guard: "wrap the handler with semelhttp, do the work in semel.Do, or name the guard that it has with --guards",
	}
	if r.Method != "" {
		f.Guard = "do the work in semel.Do, name the guard that it has with --guards, or set idempotency_level"
	}
	if r.Answered {
		f.Accept(r.Answer)
	}
	return f
}

// what says of a write why it counts.
func what(w write) string {
	if w.Verdict == lint.NotSafe {
		return "is not safe to run twice (" + w.Rule + ")"
	}
	return "cannot be shown to be safe (" + w.Rule + ")"
}

// String is the place as a message names it.
func (p sourceLine) String() string {
	return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(p.File)), path.Base(p.File)), p.Line)
}

// report returns what was found in the package, and in package main what concerns the program.
func (c *collector) report(p *program) []lint.Finding {
	var found []lint.Finding
	for _, one := range c.findings {
		f := one.Finding
		if reason, ok := c.sql.Answer(one.pos); ok {
			f.Accept(reason)
		}
		found = append(found, f)
	}
	if c.pass.Pkg.Name() != "main" {
		return found
	}
	intents := slices.ContainsFunc(p.Packages, func(s *summary) bool { return s.Intents })
	for _, s := range p.Packages {
		if !intents {
			for _, one := range s.Unkeyed {
				found = append(found, one.Finding)
			}
		}
	}
	return append(found, newGraph(p).handlers(p)...)
}
