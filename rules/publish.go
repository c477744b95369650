package rules

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"strings"
	"sync"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/texts"
)

// PublishedUnique describes a uniqueness rule to callers: what is the same, in the
// names that they send, and the answer to a second one. Tables, indexes, scopes,
// exceptions and SQL stay private.
type PublishedUnique struct {
	Name          string            `json:"name"`
	Says          string            `json:"says"`
	Fields        []publishedField  `json:"fields"`
	OnConflict    string            `json:"on_conflict"` // reject, return_existing or upsert
	MayChange     []string          `json:"may_change,omitempty"`
	MustNotChange []string          `json:"must_not_change,omitempty"`
	Messages      map[string]string `json:"messages"` // by language; … marks the caller's values
}

// publishedField is one field of a rule.
type publishedField struct {
	Name   string            `json:"name"`   // as in the member fields of a conflict
	Labels map[string]string `json:"labels"` // by language
}

// Published returns what callers may know of the uniqueness rules, in the order
// of the file; never nil.
func (f *File) Published() []PublishedUnique {
	all := make([]PublishedUnique, 0, len(f.Unique))
	for i := range f.Unique {
		u := &f.Unique[i]
		p := PublishedUnique{
			Name: u.Name, Says: u.Says, OnConflict: u.OnConflict.String(), MayChange: u.MayChange, MustNotChange: u.MustNotChange,
			Messages: map[string]string{},
		}
		sent := map[string]string{}
		for _, column := range u.Show {
			sent[column] = "…"
		}
		for _, lang := range Languages() {
			p.Messages[lang] = u.Message(lang, sent)
		}
		for _, column := range columnsOf(u.Fields) {
			field := publishedField{Name: column, Labels: map[string]string{}}
			for _, lang := range Languages() {
				field.Labels[lang] = u.Label(lang, column)
			}
			p.Fields = append(p.Fields, field)
		}
		all = append(all, p)
	}
	return all
}

// PublishJSON writes [File.Published] as a document with the member unique,
// which is that of /.well-known/idempotency too.
func (f *File) PublishJSON() []byte {
	document := struct {
		Unique []PublishedUnique `json:"unique"`
	}{f.Published()}
	return append(must.Get(json.MarshalIndent(document, "", "  ")), '\n')
}

//go:embed templates
var templates embed.FS

// pageTexts are the words of the page in one language.
type pageTexts struct {
	Title         string            `json:"title"`
	Intro         string            `json:"intro"`
	None          string            `json:"none"`
	Fields        string            `json:"fields"`
	Conflict      string            `json:"conflict"`
	MayChange     string            `json:"may_change"`
	MustNotChange string            `json:"must_not_change"`
	Message       string            `json:"message"`
	Contents      string            `json:"contents"`
	Outcomes      map[string]string `json:"outcomes"`
}

// page holds the data of templates/page.html.
type page struct {
	Lang  string
	Texts pageTexts
	Rules []PublishedUnique
}

func (f *File) page(lang string) page {
	if lang = spoken(lang); lang == "" {
		lang = defaultLanguage
	}
	var all map[string]pageTexts
	must.Succeed(json.Unmarshal(must.Get(templates.ReadFile("templates/texts.json")), &all), "the embedded texts are JSON")
	return page{Lang: lang, Texts: all[lang], Rules: f.Published()}
}

// PublishPage writes the uniqueness rules as a page for people, in a language;
// English where Semel does not speak it. The page needs no script and loads
// nothing.
func (f *File) PublishPage(lang string) []byte {
	return f.render("page.html", lang)
}

// PublishSection writes the uniqueness rules as sections of a page, each with a
// heading of the second level; empty without rules.
func (f *File) PublishSection(lang string) template.HTML {
	return template.HTML(f.render("section", lang)) //nolint:gosec // html/template has escaped it.
}

// pageTemplates parses the page and its sections, once per process.
var pageTemplates = sync.OnceValue(func() *template.Template { return must.Get(template.ParseFS(templates, "templates/page.html")) }) //nolint:gochecknoglobals // it is never changed.

func (f *File) render(name, lang string) []byte {
	var out bytes.Buffer
	must.Succeed(pageTemplates().ExecuteTemplate(&out, name, f.page(lang)), "the embedded page can be filled")
	return out.Bytes()
}

// PublishMarkdown writes what [File.PublishPage] shows as Markdown.
func (f *File) PublishMarkdown(lang string) []byte {
	p := f.page(lang)
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n\n", p.Texts.Title)
	if len(p.Rules) == 0 {
		fmt.Fprintf(&out, "%s\n", p.Texts.None)
		return out.Bytes()
	}
	fmt.Fprintf(&out, "%s\n", p.Texts.Intro)
	for _, rule := range p.Rules {
		labels := texts.Of(rule.Fields, func(f publishedField) string { return f.Labels[p.Lang] })
		fmt.Fprintf(&out, "\n## %s\n\n`%s`\n\n", markdown(rule.Says), rule.Name)
		fmt.Fprintf(&out, "- %s: %s\n", p.Texts.Fields, markdown(strings.Join(labels, ", ")))
		fmt.Fprintf(&out, "- %s: %s\n", p.Texts.Conflict, p.Texts.Outcomes[rule.OnConflict])
		if len(rule.MayChange) > 0 {
			fmt.Fprintf(&out, "- %s: %s\n", p.Texts.MayChange, markdown(strings.Join(rule.MayChange, ", ")))
		}
		if len(rule.MustNotChange) > 0 {
			fmt.Fprintf(&out, "- %s: %s\n", p.Texts.MustNotChange, markdown(strings.Join(rule.MustNotChange, ", ")))
		}
		fmt.Fprintf(&out, "- %s: %s\n", p.Texts.Message, markdown(rule.Messages[p.Lang]))
	}
	return out.Bytes()
}

// markdown escapes what Markdown would take for its own.
func markdown(s string) string {
	var out strings.Builder
	for _, c := range html.EscapeString(s) {
		if strings.ContainsRune("\\`*_{}[]#+|!~", c) {
			out.WriteByte('\\')
		}
		out.WriteRune(c)
	}
	return strings.ReplaceAll(out.String(), `&\#`, `&#`) // a character that html wrote as a number
}
