package check

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/check/webform"
	"github.com/semel-dev/semel/check/wire"
)

// edit is a form that its user went back to, changed in an ordinary field, and sent again.
type edit struct {
	in      *intent
	changes []change
	// invented names the value that was made up because the template leaves none open; empty if it does.
	invented string
}

// edit changes the form of an intent. Hidden fields are kept; of a template without a page, the {{uuid}} counts as
// hidden if there is a {{n}}. A body that is not a form, as sent by a page's script, is edited as a whole.
func (p *probe) edit(ctx context.Context, in *intent) (edit, error) {
	template := &p.run.config.Template
	hidden := in.draft.hidden()
	typed, err := template.typed()
	if err != nil {
		typed = []webform.Field{{Value: string(template.Body)}}
	}
	open := slices.ContainsFunc(typed, func(f webform.Field) bool {
		field := Template{Body: []byte(strings.Join(fieldTexts(f), " "))}
		return !hidden[f.Name] && field.Varies()
	})
	if !open {
		return p.invent(in, hidden)
	}
	other, err := p.run.wish(ctx, in.user)
	if err != nil {
		return edit{}, err
	}
	other.draft = in.draft
	if in.draft == nil && template.Has("n") {
		other.key, other.values["key"], other.values["uuid"] = in.key, in.key, in.values["uuid"]
	}
	return edit{in: other}, nil
}

// later returns the intent with the current cookies of its user's browser.
func (p *probe) later(in *intent) *intent {
	copied := *in
	if in.draft != nil {
		copied.cookies = p.run.cookies(in.user, in.values)
	}
	return &copied
}

func (d *draft) hidden() map[string]bool {
	names := map[string]bool{}
	if d != nil {
		for _, f := range d.form.Fields {
			names[f.Name] = names[f.Name] || f.Kind == webform.Hidden
		}
	}
	return names
}

// invent makes up another value for the field that is the most likely to accept one.
func (p *probe) invent(in *intent, hidden map[string]bool) (edit, error) {
	r, err := p.request(in)
	if err != nil {
		return edit{}, err
	}
	fields, err := webform.ParseBody(r.Value("Content-Type"), r.Body)
	if err != nil {
		return p.inventBody(in, r)
	}
	kinds := map[string]webform.Kind{}
	if in.draft != nil {
		for _, f := range in.draft.form.Fields {
			kinds[f.Name] = f.Kind
		}
	}
	best, most := webform.Field{}, 0
	for _, f := range fields {
		f.Kind = kinds[f.Name]
		if fit := editable(f); !hidden[f.Name] && fit > most {
			best, most = f, fit
		}
	}
	if most == 0 {
		return edit{}, errors.New("no field could take another value: write {{n}} into one")
	}
	value := another(best.Value)
	return edit{in: p.later(in), changes: []change{withField(best.Name, value)}, invented: fmt.Sprintf("%s=%s", best.Name, quote(value, best.Name))}, nil
}

// inventBody makes up another value somewhere in a body that is not a form.
func (p *probe) inventBody(in *intent, r *wire.Request) (edit, error) {
	body, err := alteredBody(r, in.key)
	return edit{in: p.later(in), changes: []change{withBody(body)}, invented: "another value in its body"}, err
}

// editable returns how likely a field is to accept another value; zero means not at all.
func editable(f webform.Field) int {
	_, err := strconv.Atoi(f.Value)
	switch text := f.Kind == "" || f.Kind == webform.Text; {
	case f.File != nil, f.Value == "":
		return 0
	case f.Kind == webform.TextArea:
		return 3
	case text && strings.ContainsFunc(f.Value, unicode.IsLetter) && !strings.ContainsAny(f.Value, "@:/"):
		return 2
	case err == nil && (text || f.Kind == webform.Number):
		return 1
	}
	return 0
}

func another(value string) string {
	if n, err := strconv.Atoi(value); err == nil {
		return strconv.Itoa(n + 1)
	}
	return value + " 2"
}

// withField sets the value of a form's field; a body that is not a form is left as it is.
func withField(name, value string) change {
	return func(r *wire.Request) {
		contentType := r.Value("Content-Type")
		fields, err := webform.ParseBody(contentType, r.Body)
		at := slices.IndexFunc(fields, func(f webform.Field) bool { return f.Name == name })
		if err != nil || at < 0 {
			return
		}
		fields[at].Value = value
		media, parameters, _ := mime.ParseMediaType(contentType)
		_, r.Body = webform.Encode(media, parameters["boundary"], fields)
	}
}
