package check

import (
	"context"
	"net/http"
)

// keyForm is the form of keys in a header.
type keyForm struct {
	quoted bool
	newKey string // of Config.NewKey
}

// maxKeyForms is the most forms that are tried besides the configured one.
const maxKeyForms = 3

// bareUUID is the form of keys that many frameworks take alone.
const bareUUID = "{{uuid}}"

func (c *Config) otherForms() []keyForm {
	if c.Key.In != keyInHeader || c.Profile.Webhook || c.Template.Has("minted") || c.Template.Has("key") {
		return nil
	}
	forms := []keyForm{{!c.Key.Quoted, c.NewKey}}
	if c.NewKey == "" {
		forms = append(forms, keyForm{false, bareUUID}, keyForm{true, bareUUID})
	}
	return forms
}

func (f keyForm) says() string {
	text := "keys in quotes"
	if !f.quoted {
		text = "--raw-key"
	}
	if f.newKey != "" {
		text = "--key '" + f.newKey + "', " + text
	}
	return text
}

// aboutKey reports whether an answer may refuse the form of a key.
func aboutKey(r reply) bool {
	return r.in(http.StatusInternalServerError) || r.refused() &&
		!r.in(http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests)
}

// tryForms sends the first intent of the sample again, with keys of other forms, if it was refused. The run goes on with
// the form that is accepted.
func (p *probe) tryForms(ctx context.Context, s *sample) error {
	config := p.run.config
	refusal := s.first
	if !aboutKey(refusal) {
		return nil
	}
	was := keyForm{config.Key.Quoted, config.NewKey}
	for _, form := range config.otherForms() {
		config.Key.Quoted, config.NewKey = form.quoted, form.newKey
		in, err := p.intent(ctx)
		if err != nil {
			return err
		}
		got := p.send(ctx, "one intent, with another form of key", in)
		if got.fine() && p.detour(got) == "" {
			s.a, s.first = in, got
			p.run.addNote("Keys as configured are answered %s, so the checks use the form that the service takes: give %s to say so. Checks of how keys are spelled send their own.", refusal, form.says())
			return nil
		}
	}
	config.Key.Quoted, config.NewKey = was.quoted, was.newKey
	if len(config.otherForms()) > 0 {
		p.run.addNote("Other forms of keys are refused as well: raw ones, those in quotes, and UUIDs (--raw-key, --key '{{uuid}}').")
	}
	return nil
}
