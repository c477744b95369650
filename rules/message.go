package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
	"github.com/semel-dev/semel/internal/texts"
)

// Bounds of messages to people.
const (
	maxMessageRunes = 300
	maxLabelRunes   = 60
	// maxShownRunes bounds a repeated value, maxToldRunes a message.
	maxShownRunes = 80
	maxToldRunes  = 600
)

// Message reports in a language that the thing exists already. lang is a language
// or a tag such as sv-SE; a language that has no text gets English. sent holds
// the caller's own values, by column: a column of [Unique.Show] is repeated from
// there, shortened and without control characters, and from nowhere else. A
// value that was not sent is replaced by the name of its field. The text is plain;
// escape it for the page it goes to.
func (u *Unique) Message(lang string, sent map[string]string) string {
	lang = u.languageFor(lang)
	text := u.Messages[lang].Text
	if text == "" {
		text = defaultMessages()[lang][u.OnConflict]
	}
	var out strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, "{")
		out.WriteString(before)
		if !found {
			break
		}
		name, rest, _ := strings.Cut(after, "}")
		out.WriteString(u.fill(name, lang, sent))
		text = rest
	}
	return shorten(out.String(), maxToldRunes)
}

// languageFor returns the language of the message for a wish.
func (u *Unique) languageFor(wish string) string {
	if lang := spoken(wish); lang != "" {
		return lang
	}
	return defaultLanguage
}

// fill returns the replacement of a placeholder.
func (u *Unique) fill(name, lang string, sent map[string]string) string {
	if name == "fields" {
		return u.fieldNames(lang)
	}
	value, ok := sent[name]
	if value = strings.TrimSpace(visible(value)); !ok || value == "" || !slices.Contains(u.Show, name) {
		return u.Label(lang, name)
	}
	return shorten(value, maxShownRunes)
}

// Label is the name of a column for people: the label of the language, else the
// English one, else the column's name with spaces.
func (u *Unique) Label(lang, column string) string {
	for _, l := range []string{u.languageFor(lang), defaultLanguage} {
		if label := u.Labels[l][column]; label != "" {
			return label
		}
	}
	return strings.ReplaceAll(column, "_", " ")
}

// fieldNames lists the names of what must not be the same twice.
func (u *Unique) fieldNames(lang string) string {
	names := texts.Of(columnsOf(u.Fields), func(column string) string { return u.Label(lang, column) })
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	w := joins()[lang]
	return strings.Join(names[:len(names)-1], w.comma) + w.and + names[len(names)-1]
}

// join holds the separators of a language's lists.
type join struct{ comma, and string }

func joins() map[string]join {
	return map[string]join{"en": {", ", " and "}, "sv": {", ", " och "}, "hi": {", ", " और "}, "zh": {"、", "和"}}
}

// defaultMessages are the texts of rules that have none of their own.
func defaultMessages() map[string][3]string {
	return map[string][3]string{
		"en": {
			"This already exists: another entry has the same {fields}. Nothing was created.",
			"This already exists: an entry with the same {fields} was created before, and here it is. Nothing was created twice.",
			"An entry with the same {fields} already exists and has other values that must not change. Nothing was changed.",
		},
		"sv": {
			"Det här finns redan: en annan post har samma {fields}. Ingenting skapades.",
			"Det här finns redan: en post med samma {fields} skapades tidigare, och här är den. Ingenting skapades två gånger.",
			"Det finns redan en post med samma {fields}, med andra värden som inte får ändras. Ingenting ändrades.",
		},
		"hi": {
			"यह पहले से मौजूद है: किसी दूसरी प्रविष्टि में यही {fields} है। कुछ भी नया नहीं बनाया गया।",
			"यह पहले से मौजूद है: इसी {fields} वाली प्रविष्टि पहले बनाई जा चुकी है, और वह यह रही। कुछ भी दो बार नहीं बनाया गया।",
			"इसी {fields} वाली प्रविष्टि पहले से मौजूद है, और उसके कुछ मान अलग हैं जो बदले नहीं जा सकते। कुछ भी नहीं बदला गया।",
		},
		"zh": {
			"该记录已存在：另一条记录的{fields}与之相同。未创建任何内容。",
			"该记录已存在：此前已创建{fields}相同的记录，现返回该记录。没有重复创建。",
			"已存在{fields}相同的记录，且其中有不允许更改的值与之不同。未作任何更改。",
		},
	}
}

// isHidden reports a character that people do not see, or that turns the text
// around it: control characters, separators of lines, marks of direction.
func isHidden(c rune) bool {
	return unicode.IsControl(c) || c == unicode.ReplacementChar || unicode.Is(unicode.Bidi_Control, c) ||
		unicode.In(c, unicode.Zl, unicode.Zp, unicode.Co) || c == '\uFEFF' || c == '\u200B' || c >= 0xE0000 && c <= 0xE007F
}

// visible takes away what people do not see.
func visible(s string) string {
	return strings.Map(func(c rune) rune {
		if isHidden(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
}

// shorten cuts a text that is longer than most runes.
func shorten(s string, most int) string {
	n := 0
	for i := range s {
		if n == most-1 && len([]rune(s[i:])) > 1 {
			return strings.TrimSpace(s[:i]) + "…"
		}
		n++
	}
	return s
}

// told reads the texts for people about a conflict; nodes that the rule does not
// have are nil.
func (r *reader) told(u *Unique, labels, show, messages ast.Node) {
	if labels != nil {
		u.Labels = r.labels(u, labels)
	}
	if show != nil {
		u.Show = r.shown(u, show)
	}
	if messages == nil {
		return
	}
	u.Messages = map[string]Message{}
	var fields []yamlfile.Field
	for _, lang := range Languages() {
		fields = append(fields, yamlfile.Field{lang, func(n ast.Node) {
			if text := r.sentence(n, "the message in "+lang, maxMessageRunes); text != "" {
				r.messagePlaceholders(u, n, text)
				u.Messages[lang] = Message{Text: text, At: yamlfile.At(n)}
			}
		}})
	}
	r.Mapping(messages, "messages", fields)
}

// labels reads names of fields for people.
func (r *reader) labels(u *Unique, n ast.Node) map[string]map[string]string {
	if len(u.Terms()) == 0 { // which has been said
		return nil
	}
	all := map[string]map[string]string{}
	var fields []yamlfile.Field
	for _, lang := range Languages() {
		fields = append(fields, yamlfile.Field{lang, func(n ast.Node) {
			all[lang] = map[string]string{}
			var columns []yamlfile.Field
			for _, column := range u.Columns() {
				columns = append(columns, yamlfile.Field{column, func(n ast.Node) {
					label := r.sentence(n, "a label", maxLabelRunes)
					if strings.ContainsAny(label, "{}") {
						r.Report(yamlfile.At(n), "write it without braces", "a label is not a message and takes no placeholders")
						return
					}
					all[lang][column] = label
				}})
			}
			r.Mapping(n, "the labels in "+lang, columns)
		}})
	}
	r.Mapping(n, "labels", fields)
	return all
}

// shown reads the columns whose values a message may repeat.
func (r *reader) shown(u *Unique, n ast.Node) []string {
	columns := columnsOf(u.Fields)
	return slices.DeleteFunc(r.Texts(n, "show"), func(name string) bool {
		switch {
		case !slices.Contains(columns, name):
			fix := "show columns of fields: " + strings.Join(columns, ", ")
			r.Report(yamlfile.At(n), spelling.Ask(spelling.Nearest(name, columns), fix), "show has %q, which is not among the fields", yamlfile.Cut(name))
		case looksPersonal(name):
			r.Report(yamlfile.At(n), "remove it: {fields} says which field it is without its value", "a message would repeat %q, which looks like data about a person", yamlfile.Cut(name))
		default:
			return false
		}
		return true
	})
}

// messagePlaceholders reports placeholders that are unknown, or whose values the
// rule does not show.
func (r *reader) messagePlaceholders(u *Unique, n ast.Node, text string) {
	for text != "" {
		before, after, found := strings.Cut(text, "{")
		if strings.Contains(before, "}") {
			r.Report(yamlfile.At(n), "remove it, or open it", "a closing brace has no opening one")
			return
		}
		if !found {
			return
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(name, "{") {
			r.Report(yamlfile.At(n), "close it, as in {fields}; braces cannot be written otherwise", "the closing brace of a placeholder is missing")
			return
		}
		r.placeholder(u, n, name)
		text = rest
	}
}

func (r *reader) placeholder(u *Unique, n ast.Node, name string) {
	columns := columnsOf(u.Fields)
	switch {
	case name == "fields", slices.Contains(u.Show, name):
	case slices.Contains(columns, name) && looksPersonal(name):
		r.Report(yamlfile.At(n), "write {fields}, which names the field without its value", "{%s} would repeat data about a person", name)
	case slices.Contains(columns, name):
		r.Report(yamlfile.At(n), fmt.Sprintf("write {fields}, or allow it with show: [%s]", name), "{%s} would repeat a value that show does not allow", name)
	default:
		known := append([]string{"fields"}, u.Show...)
		fix := "use " + "{" + strings.Join(known, "}, {") + "}"
		if near := spelling.Nearest(name, append(known, columns...)); near != "" {
			fix = fmt.Sprintf("did you mean {%s}?", near)
		}
		r.Report(yamlfile.At(n), fix, "the placeholder {%s} is not known", yamlfile.Cut(name))
	}
}
