package check

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

const (
	// maxWords limits how many characters of an answer's own words a reason quotes.
	maxWords = 200
	// maxWordsBody is the longest body that is searched for such words.
	maxWordsBody = 64 << 10
	// maxFields limits the wrong fields that a reason names.
	maxFields = 5
)

// said holds the words of an answer in full: they are masked and cut when the report is complete, so that no half of a
// secret is left.
type said struct {
	words string // the service's text
	raw   bool   // words are the unchanged beginning of a body
}

// words returns the message of an answer: the detail of a problem (RFC 9457) or a message, with the fields that it
// names; otherwise its text, that of a page, or the beginning of its body.
func (r reply) words() said {
	if r.Answer == nil {
		return said{}
	}
	body := plain(r.Answer)
	body = body[:min(len(body), maxWordsBody)]
	media, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	doc, isJSON := decodeJSON(body)
	switch {
	case isJSON:
		if words := wordsOfJSON(doc); words != "" {
			return said{words: words}
		}
	case strings.TrimSpace(media) == "text/plain":
		return said{words: string(body)}
	case strings.Contains(media, "html"):
		return said{words: wordsOfPage(body)}
	}
	if !isText(body[:min(len(body), searchedBytes)]) {
		return said{}
	}
	return said{words: string(body[:min(len(body), searchedBytes)]), raw: true}
}

// wordsOfJSON returns a document's message and the fields that are wrong; empty if it has neither.
func wordsOfJSON(doc any) string {
	members, ok := doc.(map[string]any)
	if !ok {
		return ""
	}
	message := firstText(members, "detail", "message", "error", "title")
	fields := wrongFields(members)
	switch {
	case len(fields) == 0:
		return message
	case message == "":
		return strings.Join(fields, "; ")
	}
	return message + ": " + strings.Join(fields, "; ")
}

// wrongFields returns the fields that a refusal names, each with its message, in the usual shapes: errors or detail as
// a list of objects, or as an object with a message for each field.
func wrongFields(members map[string]any) []string {
	var all []string
	for _, name := range []string{"errors", "detail", "details", "violations", "invalid-params", "invalid_params", "error"} {
		switch node := members[name].(type) {
		case []any:
			for _, one := range node {
				all = append(all, wrongField(one))
			}
		case map[string]any:
			for _, field := range slices.Sorted(maps.Keys(node)) {
				all = append(all, field+" "+textOf(node[field]))
			}
		}
	}
	all = slices.DeleteFunc(all, func(text string) bool { return strings.TrimSpace(text) == "" })
	if more := len(all) - maxFields; more > 0 {
		all = append(all[:maxFields], fmt.Sprintf("and %d more", more))
	}
	return all
}

func wrongField(one any) string {
	members, ok := one.(map[string]any)
	if !ok {
		return textOf(one)
	}
	where := firstText(members, "pointer", "field", "name", "param", "path", "loc", "location", "property", "propertyPath")
	if source, ok := members["source"].(map[string]any); ok {
		where = cmp.Or(where, firstText(source, "pointer", "parameter"))
	}
	return strings.TrimSpace(where + " " + firstText(members, "detail", "message", "msg", "reason", "title", "code"))
}

func firstText(members map[string]any, names ...string) string {
	for _, name := range names {
		if text := textOf(members[name]); text != "" {
			return text
		}
	}
	return ""
}

// textOf returns a text, a number, or the texts of a list; empty for anything else.
func textOf(node any) string {
	switch v := node.(type) {
	case string:
		return v
	case fmt.Stringer: // a number
		return v.String()
	case []any:
		var parts []string
		for _, one := range v {
			if text := textOf(one); text != "" && len(parts) < maxFields {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

// wordsOfPage returns the text of a page, without its head and scripts.
func wordsOfPage(body []byte) string {
	var b strings.Builder
	in := html.NewTokenizer(bytes.NewReader(body))
	hidden := ""
	for {
		switch in.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			if name, _ := in.TagName(); hidden == "" && slices.Contains([]string{"script", "style", "head", "select", "template"}, string(name)) {
				hidden = string(name)
			}
		case html.EndTagToken:
			if name, _ := in.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.TextToken:
			if hidden == "" {
				b.WriteString(" " + string(in.Text()))
			}
		case html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}

// quoted returns the masked words as they follow a status in a reason.
func (s said) quoted(mask func(string) string) string {
	words := oneLine(mask(s.words))
	switch {
	case words == "":
		return ""
	case s.raw:
		return "; its body begins with " + words
	}
	return ": " + strconv.Quote(words)
}

// oneLine returns text on one line, shortened and without terminal escape sequences.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, text)
	if runes := []rune(text); len(runes) > maxWords {
		return string(runes[:maxWords]) + "…"
	}
	return text
}
