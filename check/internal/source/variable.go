package source

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	// maxFilled limits the variables of a file that are filled in; together they have at most MaxBytes.
	maxFilled = 10_000
	// maxWithin limits the nesting of variables.
	maxWithin = 16
)

var (
	braces    = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
)

// fill replaces the variables of the file, and those of editors by places.
func (f *httpFile) fill(text string) (string, error) { return f.within(text, 0) }

func (f *httpFile) within(text string, depth int) (string, error) {
	var failed error
	filled := braces.ReplaceAllStringFunc(text, func(found string) string {
		if failed != nil {
			return found
		}
		name := braces.FindStringSubmatch(found)[1]
		value, defined := f.variables[name]
		if !defined {
			place, err := f.place(name)
			failed = err
			return place
		}
		f.left--
		f.room -= len(value)
		switch {
		case depth > maxWithin:
			failed = fmt.Errorf("the variable %s contains itself, or others nested deeper than %d", name, maxWithin)
			return found
		case min(f.left, f.room) < 0:
			failed = fmt.Errorf("the request has too many or too large variables, such as %s: write their values", name)
			return found
		}
		value, failed = f.within(value, depth+1)
		return value
	})
	if failed == nil && len(filled) > MaxBytes {
		failed = fmt.Errorf("the request is larger than %d MiB: use a smaller one", MaxBytes>>20)
	}
	return filled, failed
}

// place returns the place for a variable that the file does not define.
func (f *httpFile) place(name string) (string, error) {
	word, rest, _ := strings.Cut(name, " ")
	word, _, _ = strings.Cut(word, "(")
	switch word {
	case "uuid", "n", "now", "key", "minted":
		return "{{" + name + "}}", nil
	case "$guid", "$uuid", "$randomUUID", "$random.uuid":
		return "{{uuid}}", nil
	case "$timestamp", "$randomInt", "$random.integer", "$random.alphanumeric", "$random.numeric", "$random.float":
		f.addNote("{{%s}} became {{n}}, a number of 16 digits", name)
		return "{{n}}", nil
	case "$random.email", "$randomEmail":
		return "semel-{{n}}@example.com", nil
	case "$isoTimestamp", "$datetime", "$localDatetime":
		f.addNote("{{%s}} became {{now}}, the time as in RFC 3339", name)
		return "{{now}}", nil
	case "$processEnv", "$dotenv", "$shared":
		name = strings.TrimPrefix(strings.TrimSpace(rest), "%")
	default:
		name = strings.TrimPrefix(name, "$env.")
	}
	if variable, ok := strings.CutPrefix(name, "var:"); ok {
		name = variable
	}
	if !plainName.MatchString(name) {
		return "", fmt.Errorf("{{%s}} is unknown: define it with @name = value, or write {{uuid}}, {{n}}, {{now}} or {{var:NAME}}", name)
	}
	return "{{var:" + name + "}}", nil
}
