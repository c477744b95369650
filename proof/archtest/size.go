package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// Size counts what a reader of the repository has to find their way through.
type Size struct {
	// Exported counts the exported top-level names of every importable package of the library, by folder: types, functions,
	// constants and variables, but not methods.
	Exported map[string]int
	// RootLines counts the lines of the root package, without tests.
	RootLines int
	// Lines counts the lines of all Go files that are not tests, and Tests those of tests, by house.
	Lines, Tests map[string]int
}

// house is a folder at the top of the repository that serves one kind of reader, with the most lines of Go that it may
// have, without tests and of tests. The numbers may only fall: what a house gains it deletes elsewhere.
type house struct {
	folder       string
	lines, tests int
}

// library is the house of everything that has no other.
const library = "."

// houses returns the houses.
func houses() []house {
	return []house{
		{library, 75_470, 62_861},
		{"adapters", 4_076, 6_238},
		{"check", 23_062, 10_656},
		{"cmd", 5_259, 2_244},
		{"console", 4_076, 3_213},
		{"demo", 2_010, 494},
		{"examples", 7_985, 5_548},
		{"gateway", 13_796, 14_797},
		{"internal/cli", 3_647, 1_559},
		{"lint", 33_900, 6_065},
		{"proof", 12_553, 11_328},
		{"schema", 18_446, 8_818},
		{"semelgrpc", 2_207, 3_095},
		{"semelotel", 289, 456},
		{"store/natsstore", 2_164, 900},
	}
}

// houseOf returns the house of a file.
func houseOf(name string) string {
	for _, h := range houses() {
		if strings.HasPrefix(name, h.folder+"/") {
			return h.folder
		}
	}
	return library
}

// public bounds what the library shows to those who import it.
var public = struct{ packages, names, rootNames, rootLines int }{24, 547, 106, 4_078} //nolint:gochecknoglobals // a constant.

// Measure counts the Go files of a tree. Input of tests counts nowhere; packages below internal are not importable.
func Measure(tree Tree) (Size, error) {
	size := Size{Exported: map[string]int{}, Lines: map[string]int{}, Tests: map[string]int{}}
	names := map[string]map[string]bool{}
	for _, name := range tree.names(func(name string) bool { return path.Ext(name) == ".go" && !inTestdata(name) }) {
		text := tree.files[name]
		lines, house := bytes.Count(text, []byte("\n")), houseOf(name)
		if strings.HasSuffix(name, "_test.go") {
			size.Tests[house] += lines
			continue
		}
		size.Lines[house] += lines
		folder := path.Dir(name)
		if folder == "." {
			size.RootLines += lines
		}
		if house != library || slices.Contains(strings.Split(folder, "/"), "internal") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return Size{}, fmt.Errorf("measure the source tree: %w", err)
		}
		if file.Name.Name == "main" {
			continue
		}
		if names[folder] == nil {
			names[folder] = map[string]bool{}
		}
		addExported(names[folder], file)
	}
	for folder, of := range names {
		size.Exported[folder] = len(of)
	}
	return size, nil
}

// addExported adds the exported top-level identifiers of a file, without methods.
func addExported(names map[string]bool, file *ast.File) {
	var identifiers []*ast.Ident
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				identifiers = append(identifiers, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					identifiers = append(identifiers, s.Name)
				case *ast.ValueSpec:
					identifiers = append(identifiers, s.Names...)
				}
			}
		}
	}
	for _, identifier := range identifiers {
		if identifier.IsExported() {
			names[identifier.Name] = true
		}
	}
}

// bound is a number and the most that it may be.
type bound struct {
	name         string
	number, most int
}

// bounds returns what has a ceiling.
func (s Size) bounds() []bound {
	names := 0
	for _, n := range s.Exported {
		names += n
	}
	all := []bound{
		{"importable packages of the library", len(s.Exported), public.packages},
		{"exported names of the library", names, public.names},
		{"exported names of the root package", s.Exported["."], public.rootNames},
		{"lines of the root package", s.RootLines, public.rootLines},
	}
	for _, h := range houses() {
		all = append(all, bound{"lines of Go without tests in " + h.folder, s.Lines[h.folder], h.lines}, bound{"lines of tests in " + h.folder, s.Tests[h.folder], h.tests})
	}
	return all
}

// CheckSize returns every size that exceeds its ceiling.
func CheckSize(size Size) []Violation {
	var found []Violation
	for _, b := range size.bounds() {
		if b.number > b.most {
			found = append(found, Violation{
				Where: b.name,
				Rule:  fmt.Sprintf("%d, at most %d: delete or merge something in the same change (go test -v -run TestSize ./proof/archtest prints all sizes)", b.number, b.most),
			})
		}
	}
	return found
}

// String returns the sizes as a table.
func (s Size) String() string {
	var text strings.Builder
	lines, tests := 0, 0
	for _, h := range houses() {
		lines, tests = lines+s.Lines[h.folder], tests+s.Tests[h.folder]
	}
	fmt.Fprintf(&text, "%d lines of Go without tests, %d of tests\n", lines, tests)
	for _, b := range s.bounds() {
		fmt.Fprintf(&text, "%8d of %6d  %s\n", b.number, b.most, b.name)
	}
	folders := slices.SortedFunc(maps.Keys(s.Exported), func(a, b string) int { return s.Exported[b] - s.Exported[a] })
	for _, folder := range folders {
		fmt.Fprintf(&text, "%8d names in %s\n", s.Exported[folder], folder)
	}
	return text.String()
}
