package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Size counts what a reader of the module has to find their way through.
type Size struct {
	// Exported counts the exported top-level names of every importable package, by folder: types, functions,
	// constants and variables, but not methods.
	Exported map[string]int
	// RootLines counts the lines of the root package, without tests.
	RootLines int
	// Lines counts the lines of all Go files that are not tests, TestLines those of tests.
	Lines, TestLines int
}

// ceilings are the sizes that may not be exceeded. A change that makes a number smaller may lower its ceiling. Only a new
// feature raises one, by what it adds, and is named there.
func ceilings() []limit {
	const flows = 1    // package flow
	const webhooks = 1 // package webhook, and its rule
	const jobs = 1     // the adapters in nested modules
	const inboxes = 1  // package inbox, and its verbs in cmd/semel
	const outboxes = 1 // package outbox, and its verbs in cmd/semel
	const engines = 1  // internal/bench/{contest,order,engines,temporal}, examples/which
	const brokers = 1  // brokers for tests, and their drivers in nested modules
	const shops = 1    // examples/shop/services
	const lints = 1    // packages lint and lint/vet, internal/lint, and their commands
	const dedupes = 1  // internal/dedupe, and its verbs in cmd/semel
	const keepers = 1  // its guard, and its end
	const paces = 1    // the rests of its runs, and its questions
	const views = 1    // its view of rows that are not merged
	const charts = 1   // the numbers of internal/console, and deploy
	const consoles = 1 // internal/console, and its verb in cmd/semel
	const pages = 1    // its pages of flows, messages and more
	const shares = 1   // statements of package pgstore that share a transaction
	const hearts = 1   // one timer for the heartbeats of all claims, and contexts made when asked for
	const streams = 1  // one commit for claims and settlements, and its rules in storetest
	const runs = 1     // calls of its Run, alone and in shared transactions
	const riders = 1   // messages and deliveries whose statements travel with others
	const mariadbs = 1 // known statements of package mysqlstore, which share transactions
	const lists = 1    // lists of texts and of placeholders that the linter follows in Go
	const ripples = 1  // what a statement sets off elsewhere, which the linter follows
	const clocks = 1   // internal/lease and more that left the root package, which has 157 lines less
	const passes = 1   // batches of dedupe in fewer passes, its undos of a whole audit only, and its rivals in internal/bench
	const searches = 1 // package outcomelog/archive, and its page and verb
	const watches = 1  // internal/watch, the metrics of semel console, and the errors of drivers in internal/dialect
	const mounts = 1   // package console
	const logs = 1     // store/logstore, its section of internal/bench and its verbs in cmd/semel
	return []limit{
		{"importable packages", 20 + flows + webhooks + inboxes + outboxes + 2*lints + searches + mounts + logs},
		{"exported names", 504 + 28*flows + 20*webhooks + 16*inboxes + pages + 30*outboxes + 32*lints + runs + 2*mariadbs + 9*searches + 2*mounts + 8*logs},
		{"exported names of the root package", 104},
		{"lines of the root package", 3_635 + 55*flows},
		{"lines of Go without tests", 111_140 + 2_220*flows + 1_640*webhooks + 1_250*jobs + 1_860*inboxes + 2_700*outboxes + 1_360*engines + 2_500*brokers + 1_760*shops + 30_420*lints + 8_520*dedupes + 1_710*keepers + 770*paces + 170*views + 1_500*consoles + 1_500*pages + 740*charts + 370*shares + 490*runs + 306*lists + 300*riders + 140*streams + 1_150*mariadbs + 150*clocks + 160*passes + 1_110*ripples + 170*hearts + 1_200*searches + 520*watches + 120*mounts + 3_330*logs},
		{"lines of tests", 79_000 + 4_250*flows + 2_400*webhooks + 1_550*jobs + 1_700*inboxes + 2_400*outboxes + 620*engines + 1_250*brokers + 160*shops + 6_500*lints + 3_480*dedupes + 500*keepers + 630*consoles + 700*pages + 620*charts + 290*shares + 290*runs + 640*riders + 300*streams + 1_000*mariadbs + 90*clocks + 60*passes + 180*ripples + 110*hearts + 430*searches + 260*watches + 140*mounts + 1_580*logs},
	}
}

// limit is one measure with its ceiling.
type limit struct {
	name    string
	ceiling int
}

// Measure counts the Go files of a tree. Input of tests counts nowhere; examples, commands, internal packages and
// nested modules are not importable.
func Measure(tree Tree) (Size, error) {
	size := Size{Exported: map[string]int{}}
	names := map[string]map[string]bool{}
	for _, name := range tree.names(func(name string) bool { return path.Ext(name) == ".go" && !inTestdata(name) }) {
		text := tree.files[name]
		lines := bytes.Count(text, []byte("\n"))
		if strings.HasSuffix(name, "_test.go") {
			size.TestLines += lines
			continue
		}
		size.Lines += lines
		folder := path.Dir(name)
		if folder == "." {
			size.RootLines += lines
		}
		if tree.inNestedModule(folder) || !importable(folder) {
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

func importable(folder string) bool {
	elements := strings.Split(folder, "/")
	return elements[0] != "examples" && !slices.Contains(elements, "internal")
}

func (t Tree) inNestedModule(folder string) bool {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, nested := t.files[folder+"/go.mod"]; nested {
			return true
		}
	}
	return false
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

// measures returns the sizes in the order of [ceilings].
func (s Size) measures() []int {
	all := 0
	for _, n := range s.Exported {
		all += n
	}
	return []int{len(s.Exported), all, s.Exported["."], s.RootLines, s.Lines, s.TestLines}
}

// CheckSize returns every size that exceeds its ceiling.
func CheckSize(size Size) []Violation {
	var found []Violation
	measures := size.measures()
	for i, l := range ceilings() {
		if measures[i] > l.ceiling {
			found = append(found, Violation{
				Where: l.name,
				Rule:  fmt.Sprintf("%d, at most %d: delete or merge something in the same change (go test -v -run TestSize ./internal/archtest prints all sizes)", measures[i], l.ceiling),
			})
		}
	}
	return found
}

// String returns the sizes as a table.
func (s Size) String() string {
	var text strings.Builder
	measures := s.measures()
	for i, l := range ceilings() {
		fmt.Fprintf(&text, "%8d of %6d  %s\n", measures[i], l.ceiling, l.name)
	}
	folders := make([]string, 0, len(s.Exported))
	for folder := range s.Exported {
		folders = append(folders, folder)
	}
	slices.SortFunc(folders, func(a, b string) int { return s.Exported[b] - s.Exported[a] })
	for _, folder := range folders {
		fmt.Fprintf(&text, "%8d names in %s\n", s.Exported[folder], folder)
	}
	return text.String()
}
