package archtest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	// contract is the folder whose files name the rules of the store contract.
	contract = "store/storetest"
	// promises is the page that cites them.
	promises = "docs/guarantees.md"
	// threats is the page whose numbered rows each name the tests of a defence.
	threats = "docs/security.md"
)

// CheckCitations returns every test, example or benchmark that a page of documentation names although no Go file of
// the tree has it, every such rule of the store contract on the page of promises, every threat without a test, and every
// link to a file or folder that is not there. Blocks of code are left out. Names are in backquotes; `claim/…` means all rules that start so.
func CheckCitations(tree Tree) []Violation {
	functions, rules := citable(tree)
	kinds := []citation{
		{
			regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*)[`/]"),
			func(_, name string) bool { return functions[name] },
			"no Go file has %s: name a test that is there",
		},
		{
			regexp.MustCompile("`([a-z]+/[a-z-]*…?)`"),
			func(page, name string) bool { return page != promises || rules.have(name) },
			contract + " has no rule %s: name one that is there",
		},
		{
			regexp.MustCompile(`\]\(([^)#\s:]+)(?:#[^)]*)?\)`),
			func(page, target string) bool { return tree.has(path.Join(path.Dir(page), target)) },
			"links to %s, which is not there",
		},
		{
			regexp.MustCompile(`^\| \d+ \|(.*)`),
			func(page, row string) bool { return page != threats || strings.Contains(row, "`Test") },
			"a threat has no test: name one that attacks the defence, in%.30s",
		},
	}
	var found []Violation
	for _, page := range tree.names(func(name string) bool { return path.Ext(name) == ".md" && !inTestdata(name) }) {
		for _, kind := range kinds {
			found = append(found, kind.check(page, tree.files[page])...)
		}
	}
	return found
}

// citation is one way in which a page names something.
type citation struct {
	pattern *regexp.Regexp
	exists  func(page, name string) bool
	rule    string
}

func (c *citation) check(page string, text []byte) []Violation {
	var found []Violation
	number, code := 0, false
	for line := range bytes.Lines(text) {
		number++
		if bytes.HasPrefix(line, []byte("```")) {
			code = !code
		}
		if code { // f(x[i](y)) is no link
			continue
		}
		for _, match := range c.pattern.FindAllSubmatch(line, -1) {
			if name := string(match[1]); !c.exists(page, name) {
				found = append(found, Violation{Where: fmt.Sprintf("%s:%d", page, number), Rule: fmt.Sprintf(c.rule, name)})
			}
		}
	}
	return found
}

// ruleNames are the rules of the store contract.
type ruleNames []string

// have reports whether there is the rule, or, where it ends in "…", one that starts so.
func (r ruleNames) have(cited string) bool {
	start, open := strings.CutSuffix(cited, "…")
	return slices.ContainsFunc(r, func(name string) bool { return name == start || open && strings.HasPrefix(name, start) })
}

// citable returns the names that documentation may cite.
func citable(tree Tree) (functions map[string]bool, rules ruleNames) {
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	rule := regexp.MustCompile(`Name: +"([a-z]+/[a-z-]+)"`)
	functions = make(map[string]bool)
	for _, name := range tree.names(func(name string) bool { return path.Ext(name) == ".go" }) {
		if strings.HasSuffix(name, "_test.go") {
			for _, match := range function.FindAllSubmatch(tree.files[name], -1) {
				functions[string(match[1])] = true
			}
		}
		if path.Dir(name) == contract {
			for _, match := range rule.FindAllSubmatch(tree.files[name], -1) {
				rules = append(rules, string(match[1]))
			}
		}
	}
	return functions, rules
}
