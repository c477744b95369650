package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// phrase is wording that a native engineer would not write.
type phrase struct {
	pattern *regexp.Regexp
	instead string
}

// phrases is the list that the prose of the project is kept free of. CONTRIBUTING.md says how to write.
func phrases() []phrase {
	var all []phrase
	for _, p := range []struct{ pattern, instead string }{
		{`(?i)\b(?:is|are|was|were|be) (?:what|where|how|who|whom|whose)\b`, `use a verb: holds, returns, limits, decides`},
		{`(?:^|[.;:] )(?:Who|Whoever|Whose) [a-z]`, `name the role: a caller that …, the holder`},
		{`(?i)\b(?:no|any|some|every)body\b|\bwhoever\b`, `name the role: no caller, the holder, an operator, the store`},
		{`(?i)\blooks? (?:whether|what|if)\b`, `checks whether`},
		{`(?i)\b(?:it|that|this|which|[a-z]+s?) (?:is|are|was|were) no (?:[a-km-z]|l[a-np-z])[a-z]*`, `is not a …`},
		{`(?i)\bst(?:ands?|anding|ood)\b`, `is, exists, is stored`},
		{`(?i)\bwhat (?:became|becomes|will become) of\b`, `the outcome of`},
		{`(?i)\bbeside\b`, `next to, in addition to`},
		{`(?i)\bby (?:it|them)(?:self|selves)\b`, `on its own`},
		{`(?i), too(?:[.,;:)]|$)`, `also, before the verb`},
		{`(?i), also `, `also, without the comma`},
		{`(?i)\bmend(?:s|ed|ing)?\b`, `fix`},
		{`(?i)\b(?:to be had|all the same|of late|as a rule\b|be it)\b`, `leave it out`},
		{`(?i)\bso long at most\b`, `at most d`},
		{`(?i)\b(?:tells?|told) (?:apart|from|of)\b|\b(?:is|are|was|were) (?:told|said)\b`, `distinguishes, reports, is reported`},
		{`(?i)\b(?:betray|stray|heed|dismiss)(?:s|es|ed|ing)?\b`, `reveals, is out of place, respects, releases`},
	} {
		all = append(all, phrase{regexp.MustCompile(p.pattern), p.instead})
	}
	return all
}

// fashion is wording that is right now and then, and tires where every second comment has it.
type fashion struct {
	pattern *regexp.Regexp
	// most is the number of lines that may have it. It only falls.
	most int
}

// fashions returns the wordings with a budget.
func fashions() []fashion {
	return []fashion{
		{regexp.MustCompile(`(?i)\bwhat (?:it|the|is|a) `), 2040},
		{regexp.MustCompile(`(?i)\bsays (?:of|what|why|that)\b`), 655},
		{regexp.MustCompile(`(?i)\bthose (?:of|that)\b`), 601},
		{regexp.MustCompile(`(?i)\bthat of\b`), 354},
		{regexp.MustCompile(`(?i)\bof its own\b`), 400},
		{regexp.MustCompile(`(?i)\bthe others?\b`), 426},
		{regexp.MustCompile(`(?i)\bwhatever\b`), 366},
	}
}

// CheckFashions returns the wordings that more lines of prose have than their budget.
func CheckFashions(tree Tree) []Violation {
	var found []Violation
	all := fashions()
	uses := make([]int, len(all))
	for _, name := range tree.names(isProse) {
		for _, l := range proseLines(name, tree.files[name]) {
			for i, f := range all {
				if f.pattern.MatchString(l.text) {
					uses[i]++
				}
			}
		}
	}
	for i, f := range all {
		if uses[i] > f.most {
			found = append(found, Violation{f.pattern.String(), fmt.Sprintf("%d lines have it, at most %d: name the thing or the action", uses[i], f.most)})
		}
	}
	return found
}

// CheckProse returns every use of a phrase from the list in the comments of Go files, in their texts that hold a sentence, in
// comments of scripts, SQL and TypeScript, in Python, and in the documentation, among the files that look selects.
func CheckProse(tree Tree, look func(name string) bool) []Violation {
	var found []Violation
	listed := phrases()
	for _, name := range tree.names(func(name string) bool { return isProse(name) && look(name) }) {
		for _, l := range proseLines(name, tree.files[name]) {
			for _, p := range listed {
				if match := p.pattern.FindString(l.text); match != "" {
					found = append(found, Violation{Where: fmt.Sprintf("%s:%d", name, l.number), Rule: fmt.Sprintf("%q reads translated: %s", match, p.instead)})
				}
			}
		}
	}
	return found
}

// isProse reports whether CheckProse reads a file: not what others wrote, what tests feed, or what the changelog and
// decisions keep as it was.
func isProse(name string) bool {
	if inTestdata(name) || isLock(name) || strings.HasPrefix(name, "web/dist/") || name == "CHANGELOG.md" || strings.HasPrefix(name, "proof/archtest/prose") {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".md", ".sql", ".ts", ".lua", ".sh", ".py":
		return true
	default:
		return strings.HasPrefix(name, "scripts/") || name == "Makefile" || name == ".ci/run"
	}
}

// line is a line of prose, without what encloses it.
type line struct {
	number int
	text   string
}

var hashComment = regexp.MustCompile(`(?:^|\s)##? (.*)$`)

// proseLines returns the prose of a file: all of a page but its blocks of code, and the comments of anything else.
func proseLines(name string, text []byte) []line {
	ext := path.Ext(name)
	if ext == ".go" {
		return goProse(name, text)
	}
	var lines []line
	fenced := false
	for i, l := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimSpace(l)
		if ext == ".md" && strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
		}
		if prose, ok := proseOf(ext, trimmed); ok && !fenced {
			lines = append(lines, line{i + 1, prose})
		}
	}
	return lines
}

// proseOf returns the prose of one line.
func proseOf(ext, l string) (string, bool) {
	switch ext {
	case ".md", ".py": // texts of Python span lines
		return l, true
	case ".ts":
		if strings.HasPrefix(l, "*") || strings.HasPrefix(l, "/*") {
			return strings.TrimLeft(l, "/* "), true
		}
		_, comment, ok := strings.Cut(l, "// ")
		return comment, ok
	case ".sql", ".lua":
		_, comment, ok := strings.Cut(l, "-- ")
		return comment, ok
	}
	if m := hashComment.FindStringSubmatch(l); m != nil {
		return m[1], true
	}
	return "", false
}

// goProse returns the lines of a Go file's comments, and its texts of three words or more.
func goProse(name string, text []byte) []line {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return nil // the compiler reports it
	}
	var lines []line
	add := func(pos token.Pos, text string) {
		first := set.Position(pos).Line
		for i, l := range strings.Split(text, "\n") {
			lines = append(lines, line{first + i, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "//"))})
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			add(c.Pos(), c.Text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if ok && lit.Kind == token.STRING {
			// A text with a tab is code, such as that of a mutant.
			if s, err := strconv.Unquote(lit.Value); err == nil && strings.Count(s, " ") >= 2 && !strings.Contains(s, "\t") {
				add(lit.Pos(), s)
			}
		}
		return true
	})
	return lines
}
