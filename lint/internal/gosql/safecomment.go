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

// safeComments are the comments //semel:safe of a package.
type safeComments struct {
	fset *token.FileSet
	all  map[commentLine]*safeComment
}

type commentLine struct {
	file string
	line int
}

type safeComment struct {
	commentLine
	column int
	reason string
	used   bool
}

var answerMark = regexp.MustCompile(`^//[ \t]*semel:safe\b[ \t]*(.*)$`)

func readSafeComments(fset *token.FileSet, files []*ast.File) *safeComments {
	a := &safeComments{fset: fset, all: map[commentLine]*safeComment{}}
	for _, file := range files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if m := answerMark.FindStringSubmatch(comment.Text); m != nil {
					at := fset.Position(comment.Pos())
					where := commentLine{at.Filename, at.Line}
					a.all[where] = &safeComment{commentLine: where, column: at.Column, reason: strings.TrimSpace(m[1])}
				}
			}
		}
	}
	return a
}

func (a *safeComments) at(pos token.Pos) (reason string, ok bool) {
	at := a.fset.Position(pos)
	for _, line := range []int{at.Line, at.Line - 1} {
		if one := a.all[commentLine{at.Filename, line}]; one != nil {
			one.used = true
			return one.reason, true
		}
	}
	return "", false
}

// unused returns a finding for each comment that answers nothing.
func (a *safeComments) unused() []lint.Finding {
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
