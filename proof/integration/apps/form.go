package apps

import (
	"crypto/rand"
	"net/http"
	"slices"
	"testing"

	"github.com/semel-dev/semel/check/webform"
)

// Form is a form of a page, filled in by a person.
type Form struct {
	tb    testing.TB
	page  *webform.Page
	form  *webform.Form
	typed []webform.Field
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
	return p.form("with id "+id, func(f *webform.Form) bool { return f.ID == id })
}

// PostForm returns the first form without an id that is sent by POST.
func (p *Page) PostForm() *Form {
	p.tb.Helper()
	return p.form("that is sent by POST", func(f *webform.Form) bool { return f.ID == "" && f.Press(p.URL, nil).Method == http.MethodPost })
}

func (p *Page) form(which string, is func(*webform.Form) bool) *Form {
	p.tb.Helper()
	page, err := webform.Parse(p.Body, p.URL)
	if err != nil {
		p.tb.Fatal(err)
	}
	for i := range page.Forms {
		if is(&page.Forms[i]) {
			return &Form{tb: p.tb, page: page, form: &page.Forms[i]}
		}
	}
	p.tb.Fatalf("%s: got no form %s: %.2000s", p.URL, which, p.Body)
	return nil
}

// fields are those of the page, with what was typed.
func (f *Form) fields(s *webform.Submission) []webform.Field {
	return webform.Overlay(s.Fields, f.typed, nil)
}

// Value returns the value of a field.
func (f *Form) Value(name string) string {
	all := f.fields(f.form.Press(f.page.Base, nil))
	if i := slices.IndexFunc(all, func(one webform.Field) bool { return one.Name == name }); i >= 0 {
		return all[i].Value
	}
	return ""
}

// Has says whether the form has a field of this name.
func (f *Form) Has(name string) bool {
	return slices.ContainsFunc(f.fields(f.form.Press(f.page.Base, nil)), func(one webform.Field) bool { return one.Name == name })
}

// Set fills a field in. A box that was not ticked is added.
func (f *Form) Set(name, value string) *Form {
	return f.typeIn(webform.Field{Name: name, Value: value})
}

func (f *Form) typeIn(one webform.Field) *Form {
	f.typed = append(slices.DeleteFunc(f.typed, func(before webform.Field) bool { return before.Name == one.Name }), one)
	return f
}

// Attach puts a file into a file input.
func (f *Form) Attach(name, fileName string, content []byte) *Form {
	f.tb.Helper()
	if !f.Has(name) {
		f.tb.Fatalf("the form has no file input %q", name)
	}
	return f.typeIn(webform.Field{Name: name, Value: string(content), File: &webform.File{Name: fileName}})
}

// Press returns the request of the browser when the person presses the button with this
// name, or Enter when it is "".
func (f *Form) Press(button string) *Submission {
	f.tb.Helper()
	pressed := f.form.Press(f.page.Base, []string{button})
	contentType, body := webform.Encode(pressed.Coding, rand.Text(), f.fields(pressed))
	if pressed.Method != http.MethodPost {
		return &Submission{Method: pressed.Method, Path: pressed.URL.Path + "?" + string(body)}
	}
	return &Submission{Method: pressed.Method, Path: pressed.URL.RequestURI(), ContentType: contentType, Body: body}
}
