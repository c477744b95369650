package effects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/wire"
)

// maxMembers limits the members that an error names.
const maxMembers = 8

// JSON counts by the value at the pointer (RFC 6901) of a JSON document: a number is the count; of an array or an
// object, the length is. The pointer may be empty, for the whole document, unless that is an object.
//
// The document is one answer to one GET: next pages are NOT followed. A length that stops growing because the page is
// full looks like missing effects; an answer with a Link to a next page, or a member such as has_more or next, is an
// error. Prefer a number.
//
// The URL, the pointer and header lines may have places ([check.Template]). A nil client means the zero client.
func JSON(client *wire.Client, url, pointer string, header []wire.Field) (check.Counter, error) {
	if pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("the pointer %q does not begin with a slash: write it as /total, or as /data/items", pointer)
	}
	header = slices.Clone(header)
	if !slices.ContainsFunc(header, func(f wire.Field) bool { return strings.EqualFold(f.Name, "Accept") }) {
		header = append(header, wire.Field{Name: "Accept", Value: "application/json"})
	}
	what := cmp.Or(pointer, "the JSON")
	return countOf(client, url, what, header, []string{pointer}, func(answer *wire.Answer, fill func(string) string) (int64, error) {
		to, err := filled(fill, pointer)
		if err != nil {
			return 0, err
		}
		return countJSON(answer, to)
	})
}

func countJSON(answer *wire.Answer, pointer string) (int64, error) {
	decoder := json.NewDecoder(bytes.NewReader(answer.Body))
	decoder.UseNumber()
	var doc any
	if err := decoder.Decode(&doc); err != nil {
		return 0, fmt.Errorf("the answer is not JSON (Content-Type %s), but begins with %s: give the URL of an API, or count a page with a selector",
			shown(answer.Header.Get("Content-Type")), shown(string(answer.Body)))
	}
	value, ok := place.At(doc, pointer)
	if !ok {
		return 0, fmt.Errorf("there is nothing at %s: %s", pointer, whatIsThere(doc, pointer))
	}
	switch v := value.(type) {
	case json.Number:
		return number(v.String())
	case string: // some services write numbers that JavaScript would round as texts
		n, err := number(v)
		if err != nil {
			return 0, fmt.Errorf("the value at %s is a text: %w", orRoot(pointer), err)
		}
		return n, nil
	case []any:
		if goesOn(answer) || hasNext(doc, pointer) {
			return 0, morePages(len(v))
		}
		return int64(len(v)), nil
	case map[string]any:
		if pointer == "" {
			return 0, fmt.Errorf("the document is an object: give a pointer into it; it has %s", members(v, ""))
		}
		if goesOn(answer) || hasNext(doc, pointer) {
			return 0, morePages(len(v))
		}
		return int64(len(v)), nil
	}
	return 0, fmt.Errorf("the value at %s is %v, which is not a count", orRoot(pointer), value)
}

// hasNext reports whether the object around the list says that there is another page, as most services do that send no
// Link.
func hasNext(doc any, pointer string) bool {
	if pointer == "" {
		return false
	}
	around, _ := place.At(doc, pointer[:strings.LastIndexByte(pointer, '/')])
	object, _ := around.(map[string]any)
	for _, name := range []string{"has_more", "hasMore", "has_next", "hasNext"} {
		if object[name] == true {
			return true
		}
	}
	for _, name := range []string{
		"next", "next_page", "nextPage", "next_url", "nextUrl", "next_cursor", "nextCursor", "next_page_token", "nextPageToken", "@odata.nextLink",
	} {
		if text, ok := object[name].(string); ok && text != "" {
			return true
		}
	}
	return false
}

func orRoot(pointer string) string {
	if pointer == "" {
		return "the top"
	}
	return pointer
}

// whatIsThere describes how far the pointer leads, and the alternatives there.
func whatIsThere(doc any, pointer string) string {
	for pointer != "" {
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		value, ok := place.At(doc, pointer)
		if !ok {
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			return orRoot(pointer) + " has " + members(v, pointer)
		case []any:
			return fmt.Sprintf("%s is a list of %d", orRoot(pointer), len(v))
		}
		return orRoot(pointer) + " is neither a list nor an object"
	}
	return "the document is neither a list nor an object"
}

func members(object map[string]any, under string) string {
	names := slices.Sorted(maps.Keys(object))
	more := ""
	if len(names) > maxMembers {
		names, more = names[:maxMembers], " and more"
	}
	if len(names) == 0 {
		return "no members"
	}
	for i, name := range names {
		names[i] = under + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return strings.Join(names, ", ") + more
}
