package rules

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Bounds and defaults of a [Form].
const (
	// defaultFormField is the name of the hidden field.
	defaultFormField = "_semel"
	minFormLifetime  = time.Second
	maxFormIgnored   = 64
)

// Form protects the HTML forms that post to the route: the gateway adds a hidden
// field with a token to every one of them that it sees on its way to a browser,
// and takes the token for the key.
type Form struct {
	// Field is the name of the hidden field. Default _semel.
	Field string
	// Lifetime limits how long after a page was made its forms can be sent.
	// Default: the route's retention.
	Lifetime time.Duration
	// Script puts the guard script into pages with such forms. Default true.
	Script bool
	// Ignore names the fields that change with every rendering, such as tokens
	// against forged requests: they do not make a form another one. nil for the
	// well-known names.
	Ignore []string
	// Passwords gives a token also to forms that ask for a password: those for signing in are not meant to
	// be answered from the store, and their pages say so seldom.
	Passwords bool
	// RestoreRedirect answers a form that was answered with a page by a redirect
	// to that page, so that a reload does not send the form again.
	RestoreRedirect bool
	// Texts are words for people in place of Semel's.
	Texts FormTexts
}

// FormTexts are words for people by language, one of [Languages]; "" is for all others.
type FormTexts struct {
	// Saving is shown while the form is under way, Duplicate when it had been sent before.
	Saving, Duplicate map[string]string
}

// TextFor returns the text for a language, "" for none.
func TextFor(texts map[string]string, lang string) string {
	return cmp.Or(texts[lang], texts[""])
}

// form reads true, false or a mapping.
func (r *reader) form(n ast.Node) *Form {
	f := &Form{Field: defaultFormField, Script: true}
	on, keys := r.switched(n, "form")
	if !on {
		return nil
	}
	if !keys {
		return f
	}
	r.Mapping(n, "form", []yamlfile.Field{
		{"field", func(n ast.Node) { f.Field = r.formField(n) }},
		{"lifetime", func(n ast.Node) { f.Lifetime = r.duration(n, "lifetime", minFormLifetime, maxRetention) }},
		{"script", func(n ast.Node) { f.Script = r.Boolean(n, "script") }},
		{"ignore", func(n ast.Node) { f.Ignore = r.ignored(n) }},
		{"passwords", func(n ast.Node) { f.Passwords = r.Boolean(n, "passwords") }},
		{"restore_redirect", func(n ast.Node) { f.RestoreRedirect = r.Boolean(n, "restore_redirect") }},
		{"texts", func(n ast.Node) {
			r.Mapping(n, "texts", []yamlfile.Field{
				{"saving", func(n ast.Node) { f.Texts.Saving = r.words(n, "saving", maxLabelRunes) }},
				{"duplicate", func(n ast.Node) { f.Texts.Duplicate = r.words(n, "duplicate", maxMessageRunes) }},
			})
		}},
	})
	return f
}

// switched reads true or false. It leaves a mapping, which means true, to its caller.
func (r *reader) switched(n ast.Node, what string) (on, keys bool) {
	switch n := n.(type) {
	case *ast.BoolNode:
		return n.Value, false
	case *ast.MappingNode, *ast.MappingValueNode:
		return true, true
	}
	r.Report(yamlfile.At(n), "write true, false, or its keys below it", "%s is %s", what, yamlfile.Describe(n))
	return false, false
}

// words reads one text, or a text for each language.
func (r *reader) words(n ast.Node, what string, most int) map[string]string {
	all := map[string]string{}
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		all[""] = r.sentence(n, what, most)
		return all
	}
	var fields []yamlfile.Field
	for _, lang := range Languages() {
		fields = append(fields, yamlfile.Field{lang, func(n ast.Node) { all[lang] = r.sentence(n, what+" in "+lang, most) }})
	}
	r.Mapping(n, what, fields)
	return all
}

// formField reads the name of the hidden field.
func (r *reader) formField(n ast.Node) string {
	valid := func(name string) bool { return isToken(name) && len(name) <= maxNameBytes }
	fix := "write a name of letters, digits, dashes and underscores, such as " + defaultFormField
	return cmp.Or(r.Word(n, "field", valid, fix, "field %q is not a name for a hidden field"), defaultFormField)
}

// ignored reads names of form fields; an empty list ignores none.
func (r *reader) ignored(n ast.Node) []string {
	if list, ok := n.(*ast.SequenceNode); ok && len(list.Values) == 0 {
		return []string{}
	}
	names := r.Texts(n, "ignore")
	if len(names) > maxFormIgnored {
		r.Report(yamlfile.At(n), "keep those that change with every rendering", "ignore has %d names, more than %d", len(names), maxFormIgnored)
		return nil
	}
	return names
}

// formContradictions reports what cannot hold together with form.
func (r *reader) formContradictions(route *Route, found yamlfile.Present) {
	f := route.Form
	if f == nil {
		return
	}
	at := found["form"]
	p := &route.Policy
	switch {
	case route.Key.WebhookID:
		r.Report(at, "remove one of the two: webhooks are not sent by forms", "form contradicts key.webhook_id")
	case route.Key.FormField == f.Field && f.Field != "":
		r.Report(at, "remove key, or give the hidden field another name with form.field", "key.form_field is the field %q, which form adds", f.Field)
	}
	if route.Match.looksIn("json") {
		r.Report(at, "remove form, or the json of match", "form says nothing in a route with match.json: no form sends JSON")
	}
	for i := range route.Match.Conditions {
		if c := &route.Match.Conditions[i]; c.In == "form" && f.ignores(c.Name) {
			r.Report(at, "write form.ignore without it, or tell the routes apart by something else", "form ignores the field %q, so buttons that lead to two routes by it would count as one", yamlfile.Cut(c.Name))
		}
	}
	if route.Match.Path != "" && !postable(route.Match.Methods) {
		r.Report(at, "add POST to the methods, or remove form", "form says nothing in a route without POST, the one method of forms that changes something")
	}
	if f.Lifetime > 0 && p.Retention > 0 && f.Lifetime > p.Retention {
		r.Report(at, "make lifetime at most as long as the retention; after that, Semel no longer knows whether the form was sent",
			"lifetime %v is longer than the retention %v", f.Lifetime, p.Retention)
	}
	if f.RestoreRedirect && p.Dedup {
		r.Report(at, "remove restore_redirect, or write mode: idempotent", "restore_redirect says nothing in mode dedup, which keeps no answer")
	}
	if f.RestoreRedirect && route.Authorize != nil && (route.Authorize.Get.Uses(template.JSON) || route.Authorize.Get.Uses(template.Form)) {
		r.Report(at, "use a wildcard of the path in authorize, or remove restore_redirect",
			"when the page is shown again the form's fields, which authorize asks for, are not known any more")
	}
}

// postable reports whether a form can send a request of the route.
func postable(methods []string) bool {
	return slices.Contains(methods, http.MethodPost)
}
