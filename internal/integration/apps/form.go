package apps

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Form is a form of a page, filled in by a person.
type Form struct {
	tb     testing.TB
	method string
	action *url.URL
	kind   string // enctype
	fields []field
}

type field struct {
	name, value string
	file        *file // for a file input
	button      bool  // sent only when it was pressed
}

type file struct {
	name    string
	content []byte
}

// Submission is the request that a browser sends for a form: two of a double click are the
// same bytes.
type Submission struct {
	Method, Path, ContentType string
	Body                      []byte
	// Headers are names and values of more headers.
	Headers []string
}

// Form returns the form with this id.
func (p *Page) Form(id string) *Form {
	p.tb.Helper()
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "form" && attribute(n, "id") == id {
			return p.form(n)
		}
	}
	p.tb.Fatalf("%s: got no form with id %q: %.2000s", p.URL, id, p.Body)
	return nil
}

// PostForm returns the first form without an id that is sent by POST.
func (p *Page) PostForm() *Form {
	p.tb.Helper()
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "form" && !has(n, "id") && strings.EqualFold(attribute(n, "method"), "post") {
			return p.form(n)
		}
	}
	p.tb.Fatalf("%s: got no form that is sent by POST: %.2000s", p.URL, p.Body)
	return nil
}

func (p *Page) form(n *html.Node) *Form {
	action, err := p.URL.Parse(attribute(n, "action"))
	if err != nil {
		p.tb.Fatal(err)
	}
	if attribute(n, "action") == "" {
		action = p.URL
	}
	f := &Form{tb: p.tb, action: action, method: strings.ToUpper(attribute(n, "method")), kind: attribute(n, "enctype")}
	for control := range n.Descendants() {
		if control.Type == html.ElementNode && attribute(control, "name") != "" && !has(control, "disabled") {
			f.add(control)
		}
	}
	return f
}

// add adds what a control is sent as, if it is.
func (f *Form) add(n *html.Node) {
	one := field{name: attribute(n, "name"), value: attribute(n, "value")}
	switch n.Data {
	case "textarea":
		one.value = strings.TrimSpace(text(n))
	case "select":
		one.value = selected(n)
	case "button":
		one.button = true
	case "input":
		switch attribute(n, "type") {
		case "submit", "image":
			one.button = true
		case "button", "reset":
			return
		case "checkbox", "radio":
			if !has(n, "checked") {
				return
			}
		case "file":
			one.file = &file{}
		}
	default:
		return
	}
	f.fields = append(f.fields, one)
}

// selected is the value of the option that a browser would send.
func selected(n *html.Node) string {
	first := ""
	for option := range n.Descendants() {
		if option.Data != "option" {
			continue
		}
		if has(option, "selected") {
			return attribute(option, "value")
		}
		if first == "" {
			first = attribute(option, "value")
		}
	}
	return first
}

// Value returns the value of a field.
func (f *Form) Value(name string) string {
	i := slices.IndexFunc(f.fields, func(one field) bool { return one.name == name })
	if i < 0 {
		return ""
	}
	return f.fields[i].value
}

// Has says whether the form has a field of this name.
func (f *Form) Has(name string) bool {
	return slices.ContainsFunc(f.fields, func(one field) bool { return one.name == name })
}

// Set fills a field in. A box that was not ticked is added.
func (f *Form) Set(name, value string) *Form {
	i := slices.IndexFunc(f.fields, func(one field) bool { return one.name == name && !one.button })
	if i < 0 {
		f.fields = append(f.fields, field{name: name, value: value})
		return f
	}
	f.fields[i].value = value
	return f
}

// Attach puts a file into a file input.
func (f *Form) Attach(name, fileName string, content []byte) *Form {
	f.tb.Helper()
	i := slices.IndexFunc(f.fields, func(one field) bool { return one.name == name && one.file != nil })
	if i < 0 {
		f.tb.Fatalf("the form has no file input %q", name)
	}
	f.fields[i].file = &file{name: fileName, content: content}
	return f
}

// Press returns the request of the browser when the person presses the button with this
// name, or Enter when it is "".
func (f *Form) Press(button string) *Submission {
	f.tb.Helper()
	var sent []field
	for _, one := range f.fields {
		if !one.button || one.name == button {
			sent = append(sent, one)
		}
	}
	s := &Submission{Method: f.method, Path: f.action.RequestURI()}
	if f.method != http.MethodPost {
		s.Path = f.action.Path + "?" + string(urlEncoded(sent))
		return s
	}
	if f.kind == "multipart/form-data" {
		s.ContentType, s.Body = f.multipart(sent)
	} else {
		s.ContentType, s.Body = "application/x-www-form-urlencoded", urlEncoded(sent)
	}
	return s
}

func urlEncoded(fields []field) []byte {
	pairs := make([]string, 0, len(fields))
	for _, one := range fields {
		value := one.value
		if one.file != nil {
			value = one.file.name
		}
		pairs = append(pairs, url.QueryEscape(one.name)+"="+url.QueryEscape(value))
	}
	return []byte(strings.Join(pairs, "&"))
}

func (f *Form) multipart(fields []field) (contentType string, body []byte) {
	f.tb.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, one := range fields {
		header := textproto.MIMEHeader{}
		disposition := `form-data; name="` + one.name + `"`
		content := []byte(one.value)
		if one.file != nil {
			disposition += `; filename="` + one.file.name + `"`
			header.Set("Content-Type", "application/octet-stream")
			content = one.file.content
		}
		header.Set("Content-Disposition", disposition)
		part, err := w.CreatePart(header)
		if err == nil {
			_, err = part.Write(content)
		}
		if err != nil {
			f.tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.tb.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}
