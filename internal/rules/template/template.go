// Package template reads the paths with placeholders that a rules file gives for questions and answers.
package template

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// Source names the origin of a placeholder's value.
type Source uint8

// The sources of a placeholder, and how each is written.
const (
	// Literal is fixed text.
	Literal Source = iota
	// Key is the idempotency key: {key}.
	Key
	// Wildcard is a wildcard of the route's path: {order}.
	Wildcard
	// JSON is a place in the request's JSON body: {json:/order/id}.
	JSON
	// Form is a field of the request's form body: {form:order}.
	Form
	// Answer is a place in the JSON answer of the GET: {answer:/id}.
	Answer
)

// Part is fixed text or one placeholder.
type Part struct {
	Source Source
	Value  string // the text, the wildcard, the JSON pointer, the field
}

// Template is a path, with or without a query, that has placeholders. The
// zero Template expands to nothing.
type Template struct{ Parts []Part }

// IsZero reports whether the template is empty.
func (t Template) IsZero() bool { return len(t.Parts) == 0 }

// Uses reports whether a placeholder has the source.
func (t Template) Uses(s Source) bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Source == s })
}

// Expand fills the placeholders in. Values are escaped so that none can leave
// its path segment or its query parameter; a value that is empty, or with which
// a segment of the path becomes "." or "..", is an error.
func (t Template) Expand(value func(Part) (string, error)) (string, error) {
	var out strings.Builder
	query := false
	for _, part := range t.Parts {
		if part.Source == Literal {
			out.WriteString(part.Value)
			query = query || strings.Contains(part.Value, "?")
			continue
		}
		v, err := value(part)
		switch {
		case err != nil:
			return "", fmt.Errorf("rules: fill in %s: %w", part, err)
		case v == "":
			return "", fmt.Errorf("rules: fill in %s: it is empty", part)
		case query:
			out.WriteString(url.QueryEscape(v))
		default:
			out.WriteString(url.PathEscape(v))
		}
	}
	path, _, _ := strings.Cut(out.String(), "?")
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "", fmt.Errorf("rules: fill in %s: a segment %q would leave the path", t, segment)
		}
	}
	return out.String(), nil
}

// String writes the template as the file has it.
func (t Template) String() string {
	return strings.Join(texts.Of(t.Parts, Part.String), "")
}

// String writes the part as the file has it.
func (p Part) String() string {
	switch p.Source {
	case Literal:
		return p.Value
	case Key:
		return "{key}"
	case Wildcard, JSON, Form, Answer:
	}
	return "{" + map[Source]string{JSON: "json:", Form: "form:", Answer: "answer:"}[p.Source] + p.Value + "}"
}

// Parse reads a template; the error says what is wrong with it.
func Parse(s string) (Template, error) {
	switch {
	case !strings.HasPrefix(s, "/"), strings.HasPrefix(s, "//"):
		return Template{}, errors.New("it must be a path that starts with one slash")
	case strings.ContainsAny(s, " #\\\t\r\n"):
		return Template{}, errors.New("it may hold neither space, backslash nor '#'")
	}
	var t Template
	for s != "" {
		before, after, found := strings.Cut(s, "{")
		if strings.Contains(before, "}") {
			return Template{}, errors.New("a closing brace has no opening one")
		}
		if before != "" {
			t.Parts = append(t.Parts, Part{Source: Literal, Value: before})
		}
		if !found {
			break
		}
		name, rest, found := strings.Cut(after, "}")
		if !found {
			return Template{}, errors.New("the closing brace of a placeholder is missing")
		}
		part, err := parsePart(name)
		if err != nil {
			return Template{}, err
		}
		t.Parts = append(t.Parts, part)
		s = rest
	}
	sample, err := t.Expand(func(Part) (string, error) { return "x", nil })
	if err != nil {
		return Template{}, errors.New("a segment of its path is \".\" or \"..\"")
	}
	if _, err := url.PathUnescape(sample); err != nil { // nor does "%" before a placeholder
		return Template{}, errors.New("a percent sign is not followed by two hexadecimal digits; write %25")
	}
	return t, nil
}

func parsePart(name string) (Part, error) {
	kind, value, prefixed := strings.Cut(name, ":")
	switch {
	case name == "":
		return Part{}, errors.New("a placeholder is empty")
	case name == "key":
		return Part{Source: Key}, nil
	case !prefixed:
		return Part{Source: Wildcard, Value: name}, nil
	case kind == "json" && IsPointer(value):
		return Part{Source: JSON, Value: value}, nil
	case kind == "answer" && IsPointer(value):
		return Part{Source: Answer, Value: value}, nil
	case kind == "form" && value != "":
		return Part{Source: Form, Value: value}, nil
	}
	return Part{}, fmt.Errorf("the placeholder {%s} is not one of {key}, {wildcard}, {json:/pointer}, {form:field}, {answer:/pointer}", name)
}

// IsPointer reports whether s is a JSON pointer (RFC 6901) into a document.
func IsPointer(s string) bool {
	escapes := strings.NewReplacer("~0", "", "~1", "")
	return strings.HasPrefix(s, "/") && !strings.Contains(escapes.Replace(s), "~")
}
