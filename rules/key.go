package rules

import (
	"net/http"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// Key says where the name of an intent comes from. Exactly one of its fields
// is set.
type Key struct {
	Header      string   // the header of this name
	JSONPointer string   // this place in a JSON body
	FormField   string   // this field of a form body
	WebhookID   bool     // the webhook-id header of Standard Webhooks; the upstream verifies it
	Webhook     *Webhook // what the sender of a webhook signed, as the gateway verifies it
	Derive      *Derive  // a hash of what was sent
}

// Derive makes the key from the content of requests without an Idempotency-Key: who
// sends the same content again within the window means the same intent.
type Derive struct {
	// Fields of the form or JSON body; one that starts with a slash is a JSON
	// pointer. nil: the whole body counts. A request that has none of them has
	// no key.
	Fields []string
	// Cookies and Headers that count too.
	Cookies, Headers []string
	// Window is the retention of the first intent's record, so windows are not
	// aligned to a clock. The policy's retention is for keys in Idempotency-Key, and
	// for forms.
	Window time.Duration
}

func (r *reader) key(n ast.Node) Key {
	var k Key
	found := r.Mapping(n, "key", []yamlfile.Field{
		{"header", func(n ast.Node) { k.Header = r.header(n, "key header") }},
		{"json_pointer", func(n ast.Node) { k.JSONPointer = r.pointer(n, "json_pointer") }},
		{"form_field", func(n ast.Node) { k.FormField, _ = r.Text(n, "form_field") }},
		{"webhook_id", func(n ast.Node) { k.WebhookID = r.Yes(n, "webhook_id") }},
		{"webhook", func(n ast.Node) { k.Webhook = r.webhook(n) }},
		{"derive", func(n ast.Node) { k.Derive = r.derive(n) }},
	})
	if found != nil && len(found) != 1 {
		r.Report(yamlfile.At(n), "keep exactly one of header, json_pointer, form_field, webhook_id, webhook, derive", "key names %d sources", len(found))
	}
	return k
}

func (r *reader) derive(n ast.Node) *Derive {
	d := &Derive{}
	found := r.Mapping(n, "derive", []yamlfile.Field{
		{"fields", func(n ast.Node) { d.Fields = r.fields(n) }},
		{"cookies", func(n ast.Node) { d.Cookies = r.tokens(n, "cookies") }},
		{"headers", func(n ast.Node) { d.Headers = r.tokens(n, "headers") }},
		{"window", func(n ast.Node) { d.Window = r.duration(n, "window", time.Second, maxRetention) }},
	})
	if found == nil {
		return d
	}
	if !found.Has("window") {
		r.Report(yamlfile.At(n), "add how long the same content means the same intent, such as window: 10s", "derive has no window")
	}
	return d
}

const pointerFix = `write it like /order/id; "~" is written ~0 and "/" inside a name ~1`

// fields reads names of form fields and JSON pointers.
func (r *reader) fields(n ast.Node) []string {
	fields := r.Texts(n, "fields")
	for _, f := range fields {
		if f[0] == '/' && !template.IsPointer(f) {
			r.Report(yamlfile.At(n), pointerFix, "%q is not a JSON pointer", yamlfile.Cut(f))
		}
	}
	return fields
}

// tokens reads names of headers or cookies.
func (r *reader) tokens(n ast.Node, what string) []string {
	values := r.Texts(n, what)
	for _, v := range values {
		if !isToken(v) {
			r.Report(yamlfile.At(n), "write the bare name", "%q in %s is not a name", yamlfile.Cut(v), what)
		}
	}
	return values
}

// header reads the name of a header.
func (r *reader) header(n ast.Node, what string) string {
	return http.CanonicalHeaderKey(r.Word(n, what, isToken, "write the bare name of the header, such as Idempotency-Key", what+" %q is not a header name"))
}

// pointer reads a JSON pointer.
func (r *reader) pointer(n ast.Node, what string) string {
	return r.Word(n, what, template.IsPointer, pointerFix, what+" %q is not a JSON pointer")
}
