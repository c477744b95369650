package gosql

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint"
)

// answers are the comments //semel:safe of a package.
type answers struct {
	fset *token.FileSet
	all  map[place]*answer
}

type place struct {
	file string
	line int
}

type answer struct {
	place
	column int
	reason string
	used   bool
}

var answerMark = regexp.MustCompile(`^//[ \t]*semel:safe\b[ \t]*(.*)$`)

func readAnswers(fset *token.FileSet, files []*ast.File) *answers {
	a := &answers{fset: fset, all: map[place]*answer{}}
	for _, file := range files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if m := answerMark.FindStringSubmatch(comment.Text); m != nil {
					at := fset.Position(comment.Pos())
					where := place{at.Filename, at.Line}
					a.all[where] = &answer{place: where, column: at.Column, reason: strings.TrimSpace(m[1])}
				}
			}
		}
	}
	return a
}

func (a *answers) at(pos token.Pos) (reason string, ok bool) {
	at := a.fset.Position(pos)
	for _, line := range []int{at.Line, at.Line - 1} {
		if one := a.all[place{at.Filename, line}]; one != nil {
			one.used = true
			return one.reason, true
		}
	}
	return "", false
}

// unused returns a finding for each comment that answers nothing.
func (a *answers) unused() []lint.Finding {
	var all []lint.Finding
	for _, one := range a.all {
		if !one.used {
			all = append(all, lint.Finding{
				File: filepath.ToSlash(one.file), Line: one.line, Column: one.column, Text: "//semel:safe " + one.reason,
				Rule: lint.NotNeeded, Why: "remove the comment semel:safe: no statement is at this line or below it",
			})
		}
	}
	slices.SortFunc(all, func(x, y lint.Finding) int {
		if x.File != y.File {
			return strings.Compare(x.File, y.File)
		}
		return x.Line - y.Line
	})
	return all
}
