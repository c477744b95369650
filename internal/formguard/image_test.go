package formguard_test

import (
	"strings"
	"testing"
)

// TestWhereAnImageButtonIsPressed: its coordinates do not count behind the note that names
// it, and nothing else there does not.
func TestWhereAnImageButtonIsPressed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		one, two string // fields as NAME=VALUE
		same     bool
	}{
		"pressed elsewhere":       {"a=1 _semel=sm1.image.go go.x=1 go.y=2", "a=1 _semel=sm1.image.go go.x=30 go.y=0", true},
		"a button without a name": {"a=1 _semel=sm1.image. x=1 y=2", "a=1 _semel=sm1.image. x=30 y=0", true},
		"other content":           {"a=1 _semel=sm1.image.go go.x=1 go.y=2", "a=2 _semel=sm1.image.go go.x=1 go.y=2", false},
		"content behind it":       {"_semel=sm1.image.go go.x=1 go.y=2 a=1", "_semel=sm1.image.go go.x=1 go.y=2 a=2", false},
		"another button":          {"_semel=sm1.image.go go.x=1 go.y=2 _semel=sm1.image.no", "_semel=sm1.image.go _semel=sm1.image.no no.x=1 no.y=2", false},
		"the second of two":       {"_semel=sm1.image.go _semel=sm1.image.no no.x=1 no.y=2", "_semel=sm1.image.go _semel=sm1.image.no no.x=3 no.y=4", true},
		"no note":                 {"go.x=1 go.y=2", "go.x=3 go.y=2", false},
		"a field in between":      {"_semel=sm1.image.go a=1 go.x=1 go.y=2", "_semel=sm1.image.go a=1 go.x=3 go.y=2", false},
		"a field x behind y":      {"_semel=sm1.image. x=1 y=2 x=1", "_semel=sm1.image. x=1 y=2 x=3", false},
		"a field x before":        {"x=1 _semel=sm1.image. x=1 y=2", "x=3 _semel=sm1.image. x=1 y=2", false},
		"no number":               {"_semel=sm1.image.go go.x=a go.y=2", "_semel=sm1.image.go go.x=b go.y=2", false},
		"a number and more":       {"_semel=sm1.image.go go.x=1%26a=1 go.y=2", "_semel=sm1.image.go go.x=1%26a=2 go.y=2", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for contentType, write := range map[string]func(string) string{
				urlencoded: func(fields string) string { return strings.ReplaceAll(fields, " ", "&") },
				mixed: func(fields string) string {
					var body strings.Builder
					for field := range strings.FieldsSeq(fields) {
						name, value, _ := strings.Cut(field, "=")
						body.WriteString(part(name, value))
					}
					return body.String() + end
				},
			} {
				one, two := scan(t, contentType, "", write(c.one), nil), scan(t, contentType, "", write(c.two), nil)
				if same := one.Digest == two.Digest; same != c.same {
					t.Errorf("%s: the same digest: %v, want %v", contentType, same, c.same)
				}
				if one.Found || len(one.Tokens) != 0 {
					t.Errorf("%s: a note is taken for a token: %q", contentType, one.Tokens)
				}
			}
		})
	}
}
