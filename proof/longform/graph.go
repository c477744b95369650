package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	longVariable = "SEMEL_LONG"               // is set in the long form
	randomWalks  = "pgregory.net/rapid"       // can be more at any time
	walkLimit    = "internal/claimtest.Limit" // is called by TestMain, and multiplies the package's random walks in the long form
)

// raced returns what has other values without the race detector, as internal/guardtest/keys_race.go says.
func raced() []string {
	return []string{"internal/guardtest.keys", "internal/guardtest.raceInSnapshots"}
}

// graph holds what each declaration of the module mentions. A declaration is named by the path of its package and its own name,
// a method also by that of its type. A mention is more than a call: a function in a table or a variable is one.
type graph struct {
	home     string // the folder of the main module
	module   string // its path
	mentions map[string]map[string]bool
	tests    []test
	promised map[string]bool // methods of interfaces
	walking  map[string]bool // folders whose own tests take random walks
}

// test is a function that go test runs.
type test struct{ dir, folder, name, from string }

// load reads the packages and their tests. An incomplete graph would leave tests out, so any error is one.
func load(dir string, patterns []string) (*graph, error) {
	home, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	all, err := packages.Load(&packages.Config{
		Dir: dir, Tests: true,
		Mode: packages.NeedName | packages.NeedModule | packages.NeedImports | packages.NeedExportFile | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	g := &graph{home: home, mentions: map[string]map[string]bool{}, promised: map[string]bool{}, walking: map[string]bool{}}
	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		if p.Module == nil { // the program that go test makes of a package
			continue
		}
		if p.Module.Dir == home {
			g.module = p.Module.Path
		}
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				g.declare(p, d)
			}
		}
	}
	for _, p := range all {
		for _, obj := range p.TypesInfo.Defs {
			g.offer(obj)
		}
	}
	return g, nil
}

func (g *graph) declare(p *packages.Package, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		from := name(p.TypesInfo.Defs[d.Name])
		at := p.Fset.Position(d.Pos()).Filename
		if d.Recv == nil && (d.Name.Name == "TestMain" || d.Name.Name == "init") {
			from = filepath.Dir(at) // for all tests of the folder
		}
		g.add(p, from, d)
		if d.Recv == nil && strings.HasSuffix(at, "_test.go") && runs(d.Name.Name) {
			g.edge(from, filepath.Dir(at))
			folder, err := filepath.Rel(g.home, filepath.Dir(at))
			if err == nil {
				g.tests = append(g.tests, test{filepath.Dir(at), "./" + folder, d.Name.Name, from})
			}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					g.add(p, name(p.TypesInfo.Defs[id]), s)
				}
			case *ast.TypeSpec:
				g.add(p, name(p.TypesInfo.Defs[s.Name]), s)
			}
		}
	}
}

func runs(function string) bool {
	return function != "TestMain" && slices.ContainsFunc([]string{"Test", "Example", "Fuzz"}, func(prefix string) bool {
		return strings.HasPrefix(function, prefix)
	})
}

// add enters what a part of the syntax mentions.
func (g *graph) add(p *packages.Package, from string, part ast.Node) {
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			g.use(p, from, n)
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && text == longVariable {
				g.edge(from, longVariable)
			}
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				for _, id := range m.Names {
					g.promised[id.Name] = true
				}
			}
		}
		return true
	})
}

// use enters the object that a name means, and its package.
func (g *graph) use(p *packages.Package, from string, id *ast.Ident) {
	obj := p.TypesInfo.Uses[id]
	if obj == nil || obj.Pkg() == nil {
		return
	}
	g.edge(from, name(obj))
	g.edge(from, obj.Pkg().Path())
	if at := p.Fset.Position(id.Pos()).Filename; obj.Pkg().Path() == randomWalks && strings.HasSuffix(at, "_test.go") {
		g.walking[filepath.Dir(at)] = true
	}
}

func (g *graph) edge(from, to string) {
	if from, to = g.short(from), g.short(to); to == "" {
		return
	}
	if g.mentions[from] == nil {
		g.mentions[from] = map[string]bool{}
	}
	g.mentions[from][to] = true
}

// short leaves out the path of the module.
func (g *graph) short(name string) string { return strings.TrimPrefix(name, g.module+"/") }

// offer lets a type mention its methods that may be called through an interface: the exported ones, because other modules
// declare interfaces as well, and those whose names an interface of this module has.
func (g *graph) offer(obj types.Object) {
	declared, ok := obj.(*types.TypeName)
	if !ok {
		return
	}
	named, ok := declared.Type().(*types.Named)
	if !ok {
		return
	}
	for m := range named.Methods() {
		if m.Exported() || g.promised[m.Name()] {
			g.edge(name(declared), name(m))
		}
	}
}

// name is empty for what is declared within a function, because the function mentions what that does.
func name(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	path := obj.Pkg().Path() + "."
	if f, ok := obj.(*types.Func); ok {
		if receiver := f.Signature().Recv(); receiver != nil {
			kind := receiver.Type()
			if pointer, ok := kind.(*types.Pointer); ok {
				kind = pointer.Elem()
			}
			if named, ok := kind.(*types.Named); ok {
				return path + named.Obj().Name() + "." + f.Name()
			}
			return ""
		}
	}
	if obj.Parent() != obj.Pkg().Scope() {
		return ""
	}
	return path + obj.Name()
}

// reached returns what a test leads to by mentions. What TestMain leads to by walkLimit is not the test's.
func (g *graph) reached(t test) map[string]bool {
	seen, next := map[string]bool{}, []string{g.short(t.from)}
	for len(next) > 0 {
		from := next[len(next)-1]
		next = next[:len(next)-1]
		if from == walkLimit {
			continue
		}
		for to := range g.mentions[from] {
			if !seen[to] {
				seen[to] = true
				next = append(next, to)
			}
		}
	}
	return seen
}
