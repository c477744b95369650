package rules_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/rules"
)

// schema is the published schema, with what this file knows of its language.
type schema struct{ root map[string]any }

func publishedSchema(tb testing.TB) schema {
	tb.Helper()
	var s schema
	if err := json.Unmarshal(rules.Schema(), &s.root); err != nil {
		tb.Fatal(err)
	}
	return s
}

// resolve follows a reference.
func (s schema) resolve(node map[string]any) map[string]any {
	if ref, ok := node["$ref"].(string); ok {
		return s.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	return node
}

// check says where a value is not what the schema wants; a keyword that it does
// not know is an error too.
func (s schema) check(node map[string]any, value any, at string) []string {
	node = s.resolve(node)
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	for keyword, want := range node {
		switch keyword {
		case "$schema", "$id", "$defs", "title", "description", "properties", "additionalProperties", "items":
		case "type":
			if !hasType(value, want) {
				complain("is no %v", want)
			}
		case "const":
			if fmt.Sprint(value) != fmt.Sprint(want) {
				complain("is not %v", want)
			}
		case "enum":
			if !slices.ContainsFunc(want.([]any), func(w any) bool { return w == value }) {
				complain("is not one of %v", want)
			}
		case "anyOf":
			if !slices.ContainsFunc(want.([]any), func(w any) bool { return len(s.check(w.(map[string]any), value, at)) == 0 }) {
				complain("is nothing of what it may be")
			}
		case "pattern":
			if text, ok := value.(string); ok && !regexp.MustCompile(want.(string)).MatchString(text) {
				complain("does not match %v", want)
			}
		case "required":
			for _, name := range want.([]any) {
				if m, ok := value.(map[string]any); ok && m[name.(string)] == nil {
					complain("has no %v", name)
				}
			}
		case "minLength", "minItems", "minProperties", "minimum":
			if size, ok := sizeOf(keyword, value); ok && size < want.(float64) {
				complain("is less than %v", want)
			}
		case "maxLength", "maxItems", "maxProperties", "maximum":
			if size, ok := sizeOf(keyword, value); ok && size > want.(float64) {
				complain("is more than %v", want)
			}
		default:
			complain("the schema has a keyword that this test does not know: %s", keyword)
		}
	}
	return append(wrong, s.checkChildren(node, value, at)...)
}

func (s schema) checkChildren(node map[string]any, value any, at string) []string {
	var wrong []string
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			if items, ok := node["items"].(map[string]any); ok {
				wrong = append(wrong, s.check(items, element, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	case map[string]any:
		properties, _ := node["properties"].(map[string]any)
		for name, member := range v {
			if property, ok := properties[name].(map[string]any); ok {
				wrong = append(wrong, s.check(property, member, at+"."+name)...)
			} else if other, ok := node["additionalProperties"].(map[string]any); ok {
				wrong = append(wrong, s.check(other, member, at+"."+name)...)
			} else if node["additionalProperties"] == false {
				wrong = append(wrong, at+": has an unknown key "+name)
			}
		}
	}
	return wrong
}

func hasType(value, want any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(w any) bool { return hasType(value, w) })
	}
	number, isNumber := value.(float64)
	switch want {
	case "object":
		_, ok := value.(map[string]any)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	case "string":
		_, ok := value.(string)
		return ok
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "integer":
		return isNumber && number == float64(int64(number))
	}
	return want == "number" && isNumber
}

func sizeOf(keyword string, value any) (float64, bool) {
	kind := keyword[3:]
	switch v := value.(type) {
	case string:
		return float64(utf8.RuneCountInString(v)), kind == "Length"
	case []any:
		return float64(len(v)), kind == "Items"
	case map[string]any:
		return float64(len(v)), kind == "Properties"
	case float64:
		return v, kind == "imum"
	}
	return 0, false
}

// mapping is the path from the top to a mapping with known keys.
type mapping struct {
	path []string // a key, or [] for an element of a list
	keys []string
}

// places finds every mapping of the schema.
func (s schema) places(node map[string]any, path []string) []mapping {
	node = s.resolve(node)
	var all []mapping
	for _, alternative := range asNodes(node["anyOf"]) {
		all = append(all, s.places(alternative, path)...)
	}
	if items, ok := node["items"].(map[string]any); ok {
		all = append(all, s.places(items, append(slices.Clone(path), "[]"))...)
	}
	if properties, ok := node["properties"].(map[string]any); ok {
		all = append(all, mapping{path, slices.Sorted(maps.Keys(properties))})
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			all = append(all, s.places(properties[name].(map[string]any), append(slices.Clone(path), name))...)
		}
	}
	return all
}

func asNodes(value any) []map[string]any {
	var nodes []map[string]any
	list, _ := value.([]any)
	for _, element := range list {
		nodes = append(nodes, element.(map[string]any))
	}
	return nodes
}

// askReader has the reader say which keys it knows at a place.
func askReader(tb testing.TB, path []string) []string {
	tb.Helper()
	const stranger = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	var document any = map[string]any{stranger: 1}
	for i, step := range slices.Backward(path) {
		if step == "[]" {
			document = []any{document}
			continue
		}
		members := map[string]any{step: document}
		if step == "labels" || i > 0 && path[i-1] == "labels" {
			members["fields"] = "a"
		}
		document = members
	}
	text, err := json.Marshal(document) // JSON is YAML
	if err != nil {
		tb.Fatal(err)
	}
	_, err = rules.Parse("ask.yaml", text)
	for line := range strings.Lines(err.Error()) {
		if _, rest, found := strings.Cut(line, stranger); found {
			if _, list, found := strings.Cut(rest, "known keys are: "); found {
				keys := strings.Split(strings.TrimSuffix(strings.TrimSpace(list), ")"), ", ")
				slices.Sort(keys)
				return keys
			}
		}
	}
	tb.Errorf("at %v the reader knows no keys: %v", path, err)
	return nil
}

// TestSchemaKeys: the schema has the keys that the reader knows, and no others,
// at every place.
func TestSchemaKeys(t *testing.T) {
	t.Parallel()
	s := publishedSchema(t)
	places := s.places(s.root, nil)
	if len(places) < 15 {
		t.Fatalf("only %d mappings: %v", len(places), places)
	}
	for _, p := range places {
		if diff := cmp.Diff(askReader(t, p.path), p.keys); diff != "" {
			t.Errorf("at %v (-reader +schema):\n%s", p.path, diff)
		}
	}
}

// TestSchemaDescribes: an editor has something to show for every key.
func TestSchemaDescribes(t *testing.T) {
	t.Parallel()
	s := publishedSchema(t)
	var walk func(node map[string]any, at string)
	walk = func(node map[string]any, at string) {
		for _, alternative := range asNodes(node["anyOf"]) {
			walk(alternative, at)
		}
		if items, ok := node["items"].(map[string]any); ok {
			walk(items, at)
		}
		properties, _ := node["properties"].(map[string]any)
		for name, property := range properties {
			p := property.(map[string]any)
			if text, ok := p["description"].(string); !ok || text == "" {
				t.Errorf("%s.%s has no description", at, name)
			}
			walk(p, at+"."+name)
		}
	}
	walk(s.root, "")
	for name, node := range s.root["$defs"].(map[string]any) {
		walk(node.(map[string]any), name)
	}
}

// checkFile says what the schema has against a file.
func checkFile(tb testing.TB, name string) []string {
	tb.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return []string{err.Error()}
	}
	plain, err := json.Marshal(value) // numbers and mappings of one kind each
	if err != nil {
		return []string{err.Error()}
	}
	if err := json.Unmarshal(plain, &value); err != nil {
		tb.Fatal(err)
	}
	s := publishedSchema(tb)
	return s.check(s.root, value, name)
}

// TestSchemaFiles: what the reader takes the schema takes, and what is wrong in
// kind or key alone the schema refuses.
func TestSchemaFiles(t *testing.T) {
	t.Parallel()
	good, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(good) < 2 {
		t.Fatalf("good files: %v, %v", good, err)
	}
	for _, name := range append(good, "../demo/stage/rules.yaml") {
		if wrong := checkFile(t, name); len(wrong) > 0 {
			t.Errorf("the schema refuses a good file:\n%s", strings.Join(wrong, "\n"))
		}
	}
	for _, name := range []string{"unknown_keys", "values", "version", "noversion", "unique_keys", "unique_version", "form", "page", "background", "empty"} {
		if wrong := checkFile(t, "testdata/bad/"+name+".yaml"); len(wrong) == 0 {
			t.Errorf("the schema takes %s.yaml", name)
		}
	}
}
