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

// sizes holds one number for each name in [measures].
type sizes [6]int

// measures names what has a ceiling.
func measures() [len(sizes{})]string {
	return [...]string{
		"importable packages",
		"exported names",
		"exported names of the root package",
		"lines of the root package",
		"lines of Go without tests",
		"lines of tests",
	}
}

// feature names one part of the module and the numbers that it may add.
type feature struct {
	name, why string
	adds      sizes
}

// features returns the parts that add up to the ceilings. Only a new feature raises a ceiling: by a row of its own, or by
// higher numbers in the row of the feature that it extends. A change that makes the module smaller may lower the numbers.
// The rows are sorted by name, so that two changes seldom touch the same line.
func features() []feature {
	return []feature{
		{"adopt", "examples/adopt, and internal/integration/apps/express, with its packages of npm", sizes{0, 0, 0, 0, 90, 400}},
		{"archive", "outcomelog/archive, and its search in gateway, console and cmd/semel", sizes{1, 10, 0, 0, 1_260, 475}},
		{"brokers", "brokers for tests, and their adapters in nested modules", sizes{0, 0, 0, 0, 2_500, 1_250}},
		{"button", "one row for one wish, references and undo in dedupe, statements that lint judged wrong, and their tests: decision 0047", sizes{0, 4, 0, 0, 5_576, 3_627}},
		{"caddy", "adapters/caddy, and what gateway needs for it", sizes{0, 0, 0, 0, 498, 603}},
		{"compat", "internal/compat with its tables of servers, proxies and browsers, other servers in internal/testserver, failovers in internal/integration/failover and store/redisstore", sizes{0, 0, 0, 0, 1_480, 870}},
		{"console", "internal/console with its pages and charts, its verb in cmd/semel, deploy", sizes{0, 1, 0, 0, 3_660, 2_350}},
		{"dedupe", "internal/dedupe with its guard, pace, view, differences, rights and undo, and its verbs in cmd/semel", sizes{0, 0, 0, 0, 11_346, 4_400}},
		{"bench", "internal/bench with its measures, rival processes, Caddy and scale, and examples/which", sizes{0, 0, 0, 0, 700, 650}},
		{"envoy", "adapters/envoy", sizes{0, 0, 0, 0, 841, 1_105}},
		{"drills", "the consumer of examples/drills, and the test that plays them", sizes{0, 0, 0, 0, 120, 100}},
		{"flow", "flow, and what the root package needs for it", sizes{1, 28, 0, 55, 2_220, 4_250}},
		{"grpc", "semelgrpc, a door in a nested module", sizes{0, 1, 0, 0, 2_130, 2_562}},
		{"guard", "the guard, its doors, stores, gateway and check: everything without a row of its own", sizes{20, 493, 104, 3_635, 110_751, 79_130}},
		{"inbox", "inbox, and its verbs in cmd/semel", sizes{1, 16, 0, 0, 1_860, 1_700}},
		{"job", "adapters for job queues in nested modules", sizes{0, 0, 0, 0, 1_250, 1_550}},
		{"lease", "internal/lease: one timer for the heartbeats of all claims", sizes{0, 0, 0, 0, 320, 200}},
		{"lint", "lint, lint/vet, internal/lint, and their commands", sizes{2, 28, 0, 0, 31_220, 6_516}},
		{"logstore", "store/logstore, its section in internal/bench, its verbs in cmd/semel, its place in the proofs", sizes{1, 9, 0, 0, 3_480, 2_195}},
		{"longform", "internal/longform: which tests have a long form", sizes{0, 0, 0, 0, 270, 50}},
		{"natsstore", "store/natsstore, a store in a nested module", sizes{0, 0, 0, 0, 2_161, 1_035}},
		{"otel", "semelotel, what the root package needs for it, and cmd/semel/otlp", sizes{0, 0, 0, 29, 524, 872}},
		{"outbox", "outbox, and its verbs in cmd/semel", sizes{1, 29, 0, 0, 2_700, 2_400}},
		{"proxies", "internal/integration/proxies, programs in internal/testserver, and what gateway needs for it", sizes{0, 0, 0, 0, 230, 1_495}},
		{"release", "internal/integration/release, and the goldens of flags and metrics", sizes{0, 0, 0, 0, 5, 425}},
		{"seams", "what holds where two parts meet, the judge's controls, and their tests: decision 0045", sizes{0, 1, 0, 152, 8_225, 10_431}},
		{"sharing", "statements, claims, settlements and messages that share a round trip or a transaction", sizes{0, 3, 0, 0, 2_480, 2_500}},
		{"shop", "examples/shop/services", sizes{0, 0, 0, 0, 1_760, 160}},
		{"soak", "internal/soak: gateways for an hour", sizes{0, 0, 0, 0, 1_110, 120}},
		{"temporal", "adapters/temporal, and its tests with a server", sizes{0, 0, 0, 0, 510, 830}},
		{"watch", "internal/watch, the metrics of the console, and drivers' errors in internal/dialect", sizes{0, 0, 0, 0, 520, 260}},
		{"webhook", "webhook, and its rule", sizes{1, 20, 0, 0, 1_640, 2_400}},
	}
}

// ceilings returns the sum of all features.
func ceilings() sizes {
	var sum sizes
	for _, f := range features() {
		for i, n := range f.adds {
			sum[i] += n
		}
	}
	return sum
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

// measured returns the numbers that [measures] names.
func (s Size) measured() sizes {
	all := 0
	for _, n := range s.Exported {
		all += n
	}
	return sizes{len(s.Exported), all, s.Exported["."], s.RootLines, s.Lines, s.TestLines}
}

// CheckSize returns every size that exceeds its ceiling.
func CheckSize(size Size) []Violation {
	var found []Violation
	measured, ceilings := size.measured(), ceilings()
	for i, name := range measures() {
		if measured[i] > ceilings[i] {
			found = append(found, Violation{
				Where: name,
				Rule:  fmt.Sprintf("%d, at most %d: delete or merge something in the same change (go test -v -run TestSize ./internal/archtest prints all sizes)", measured[i], ceilings[i]),
			})
		}
	}
	return found
}

// String returns the sizes as a table.
func (s Size) String() string {
	var text strings.Builder
	measured, ceilings := s.measured(), ceilings()
	for i, name := range measures() {
		fmt.Fprintf(&text, "%8d of %6d  %s\n", measured[i], ceilings[i], name)
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
