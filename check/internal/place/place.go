// Package place finds the places of a text, such as {{n}}, that every intent fills anew, and the value at a JSON pointer.
package place

import (
	"regexp"
	"strconv"
	"strings"
)

var pattern = regexp.MustCompile(`\{\{\s*([a-zA-Z]+(?::[A-Za-z0-9_.-]+)?)\s*\}\}`)

// Names lists the names between the braces of the texts.
func Names(texts ...string) []string {
	var names []string
	for _, text := range texts {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// Fill replaces the places of text that have a value, and keeps the others.
func Fill(text string, values map[string]string) string {
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := values[pattern.FindStringSubmatch(found)[1]]; ok {
			return value
		}
		return found
	})
}

// At follows a JSON pointer (RFC 6901) into a document as encoding/json decodes
// it, and reports whether it leads to a value.
func At(doc any, pointer string) (any, bool) {
	if pointer == "" {
		return doc, true
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch node := doc.(type) {
		case map[string]any:
			next, ok := node[step]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			doc = node[i]
		default:
			return nil, false
		}
	}
	return doc, true
}
