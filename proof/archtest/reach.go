package archtest

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
)

// Reach names a package, by its folder, and the lines of this repository, without tests, that a program with this package compiles.
// A number may only fall: code that a package does not import, its readers need not read.
type Reach struct {
	Folder string
	Lines  int
}

// Reaches returns the bounds.
func Reaches() []Reach {
	return []Reach{
		{"adapters/caddy", 63_303},
		{"check", 18_334},
		{"dbguard", 19_846},
		{"gateway", 40_533},
		{"lint", 23_435},
		{"semelhttp", 16_578},
	}
}

// CheckReach measures each reach by go list in dir, once for each module.
func CheckReach(ctx context.Context, dir string, tree Tree, reaches []Reach) ([]Violation, error) {
	lines := map[string]int{}
	for _, name := range tree.names(func(name string) bool { return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") }) {
		lines[name] = bytes.Count(tree.files[name], []byte("\n"))
	}
	modules := map[string][]string{} // the folders of each
	for _, reach := range reaches {
		module := "."
		if _, nested := tree.files[path.Join(reach.Folder, "go.mod")]; nested {
			module = reach.Folder
		}
		modules[module] = append(modules[module], Module+"/"+reach.Folder)
	}
	sums := map[string]int{} // by root
	for module, roots := range modules {
		const deps = "{{if not .DepOnly}}root {{.ImportPath}} {{.ImportPath}} {{join .Deps \" \"}}\n{{end}}"
		const files = "{{$p := .ImportPath}}files {{$p}}{{range .GoFiles}} {{$p}}/{{.}}{{end}}\n"
		out, err := output(ctx, path.Join(dir, module), "go", append([]string{"list", "-deps", "-f", deps + files}, roots...)...)
		if err != nil {
			return nil, err
		}
		addReach(sums, string(out), lines)
	}
	var found []Violation
	for _, reach := range reaches {
		if sum := sums[Module+"/"+reach.Folder]; sum == 0 || sum > reach.Lines {
			found = append(found, Violation{reach.Folder, fmt.Sprintf("reaches %d lines, at most %d: import less, or let a command hand the rest in", sum, reach.Lines)})
		}
	}
	return found, nil
}

// addReach parses the output of go list for one module: the files of each package, and the packages that each root compiles.
func addReach(sums map[string]int, listed string, lines map[string]int) {
	of, deep := map[string]int{}, map[string][]string{}
	for line := range strings.Lines(listed) {
		switch words := strings.Fields(line); {
		case len(words) < 2:
		case words[0] == "root":
			deep[words[1]] = words[2:]
		default:
			for _, file := range words[2:] {
				of[words[1]] += lines[strings.TrimPrefix(file, Module+"/")]
			}
		}
	}
	for root, all := range deep {
		for _, one := range all {
			sums[root] += of[one]
		}
	}
}
