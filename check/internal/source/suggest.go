package source

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check"
)

// maxHints limits the hints.
const maxHints = 20

// likeness describes a kind of value, and the place to write instead.
type likeness struct {
	pattern       *regexp.Regexp
	what, instead string
}

func likenesses() []likeness {
	return []likeness{
		{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "an id", "{{uuid}}"},
		{regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`), "an id (ULID)", "{{uuid}}"},
		{regexp.MustCompile(`\b[0-9a-f]{24}\b|\b[0-9a-f]{32}\b`), "an id", "{{uuid}}"},
		{regexp.MustCompile(`\b20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-6]\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?`), "a time", "{{now}}"},
		{regexp.MustCompile(`\b1[5-9]\d{8}(\d{3}|\d{6})?\b`), "a time", "{{n}}"},
	}
}

// Suggest finds values in the body that look as if each intent should have its own, and names for each its position and
// the place to write instead. No hint contains a value, which may be a secret. It changes nothing: only people can tell
// whether a value belongs to the intent or must be known to the service, such as the id of a customer. There are at
// most 21 hints, in the order of the body.
func Suggest(t *check.Template) []string {
	var hints []string
	known := likenesses()
	for _, f := range fieldsOf(t) {
		if hint := f.hint(known); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
		if len(hints) == maxHints {
			break
		}
	}
	if !t.Varies() && len(t.Body) > 0 {
		hints = append(hints, "every intent would send the same request: write {{n}} or {{uuid}} into a free text of the body")
	}
	return hints
}

// found is a value of a body, with its position.
type found struct{ at, name, text string }

func (f found) hint(known []likeness) string {
	switch name := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(f.name)); name {
	case "idempotencykey", "idempotentkey", "clientrequestid", "requestid", "nonce", "clientmutationid", "clienttoken", "deduplicationid":
		return f.at + " looks like the key of the intent: write {{key}} instead, or declare it as the place of the key"
	}
	for _, like := range known {
		if like.pattern.MatchString(f.text) {
			return fmt.Sprintf("%s looks like %s: write %s instead, if every request has its own", f.at, like.what, like.instead)
		}
	}
	if user, host, ok := strings.Cut(f.text, "@"); ok && user != "" && strings.Contains(host, ".") && !strings.ContainsAny(f.text, " \t\n") {
		return f.at + " is an address that may already be taken: write {{n}} into it, if every request has its own"
	}
	return ""
}

// fieldsOf returns the values of a body that have no place: of JSON, of a form, or the lines of any other body.
func fieldsOf(t *check.Template) []found {
	const filled = "" // a value with a place already differs
	body := check.Values{"n": "0", "uuid": filled, "now": filled, "key": filled, "minted": filled}.Fill(string(t.Body))
	var all []found
	if doc, err := parseJSON([]byte(body)); err == nil && (doc.is(kindObject) || doc.is(kindArray)) {
		doc.walk("", "", &all)
		return all
	}
	if form, err := url.ParseQuery(body); err == nil && strings.Contains(contentTypeOf(t), "form-urlencoded") {
		for _, name := range slices.Sorted(maps.Keys(form)) {
			for _, text := range form[name] {
				all = append(all, found{"the field " + name, name, text})
			}
		}
		return all
	}
	number := 0
	for line := range strings.Lines(body) {
		number++
		all = append(all, found{fmt.Sprintf("line %d of the body", number), "", strings.TrimSpace(line)})
	}
	return all
}

func contentTypeOf(t *check.Template) string {
	for _, f := range t.Header {
		if strings.EqualFold(f.Name, "Content-Type") {
			return strings.ToLower(f.Value)
		}
	}
	return ""
}

func (v *value) walk(at, name string, all *[]found) {
	switch v.kindOf() {
	case kindObject:
		for _, member := range v.keys {
			v.members[member].walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(member), member, all)
		}
	case kindArray:
		for i, item := range v.items {
			item.walk(fmt.Sprintf("%s/%d", at, i), name, all)
		}
	case kindText, kindNumber:
		if v.scalar != "" {
			*all = append(*all, found{at, name, v.scalar})
		}
	case kindNone, kindNull, kindBool:
	}
}
