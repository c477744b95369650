package gocheck

import (
	"go/types"
	"regexp"
	"slices"
)

// doubles are names of types that only tests use.
var doubles = regexp.MustCompile(`(?i)mock|fake|stub|noop|dummy`)

// implementations adds the types whose methods do something that counts. Interfaces are compared with them by name and
// signature, because the package that knows both may be a third one.
func (c *collector) implementations() {
	scope := c.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		object, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || object.IsAlias() || types.IsInterface(object.Type()) || doubles.MatchString(name) || doubles.MatchString(c.pass.Pkg.Name()) {
			continue
		}
		named, ok := object.Type().(*types.Named)
		if !ok || named.TypeParams().Len() > 0 {
			continue
		}
		of := implementation{ID: c.pass.Pkg.Path() + "." + name}
		for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
			if fn, ok := selection.Obj().(*types.Func); ok {
				of.Methods = append(of.Methods, method{Name: fn.Name(), Signature: signature(fn), Function: fn.Origin().FullName()})
			}
		}
		if len(of.Methods) > 0 {
			c.summary.Types = append(c.summary.Types, of)
		}
	}
}

// prune drops the functions that come to nothing, with the edges to them, and the types and interfaces that are not needed.
func (c *collector) prune() {
	keep := map[string]bool{}
	matters := func(f *function) bool {
		return len(f.Writes) > 0 || f.Guarded || f.Registers || len(f.Wraps) > 0 || f.Reads != "" ||
			slices.ContainsFunc(f.Calls, func(e edge) bool { return e.Interface != "" || keep[e.To] })
	}
	for _, s := range c.known.Packages {
		for _, f := range s.Functions {
			keep[f.ID] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for _, f := range c.summary.Functions {
			if !keep[f.ID] && matters(f) {
				keep[f.ID], changed = true, true
			}
		}
	}
	c.summary.Functions = slices.DeleteFunc(c.summary.Functions, func(f *function) bool { return !keep[f.ID] })
	trim := func(f *function) {
		f.Calls = slices.DeleteFunc(f.Calls, func(e edge) bool { return e.Interface == "" && !keep[e.To] })
	}
	for _, f := range c.summary.Functions {
		trim(f)
	}
	for _, r := range c.summary.Routes {
		trim(r.Handler)
	}
	c.summary.Types = slices.DeleteFunc(c.summary.Types, func(t implementation) bool {
		return !slices.ContainsFunc(t.Methods, func(m method) bool { return keep[m.Function] })
	})
	c.summary.Wrappers = slices.DeleteFunc(c.summary.Wrappers, func(name string) bool { return name != "" && !keep[name] })
	slices.Sort(c.summary.Wrappers)
	c.summary.Wrappers = slices.Compact(c.summary.Wrappers)
}
