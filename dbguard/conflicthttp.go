package dbguard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
)

// ConflictOptions say how a conflict is answered. A nil *ConflictOptions is
// complete.
type ConflictOptions struct {
	// Sent are the values that the caller itself sent, by column. A message shows
	// those that the rule's show allows, and no other.
	Sent map[string]string
	// PolicyURL is linked from the problem. Default /.well-known/idempotency.
	PolicyURL string
	// Log, when set, receives the rejection.
	Log outcomelog.Sink
}

// Message says in a language, or a tag such as sv-SE, that it is there already.
// sent is as in [rules.Unique.Message]. The text is plain; escape it for the page
// it goes to.
func (c *Conflict) Message(lang string, sent map[string]string) string {
	if c.Rule != nil {
		return c.Rule.Message(lang, sent)
	}
	return wordsIn(rules.Language(lang)).nameless
}

func (c *Conflict) problem(lang string, sent map[string]string) refusal.Problem {
	p := conflictProblem("already-exists", lang, c.Rule, c.Fields)
	p.Detail = c.Message(lang, sent)
	if c.Existing != "" {
		p.Extra["existing"] = c.Existing
		if strings.HasPrefix(c.Existing, "/") || strings.HasPrefix(c.Existing, "https://") || strings.HasPrefix(c.Existing, "http://") {
			p.Extra["location"] = c.Existing // the page links to it
		}
	}
	return p
}

func conflictProblem(name, lang string, rule *rules.Unique, fields []string) refusal.Problem {
	lang = rules.Language(lang)
	p := refusal.Problem{
		Name: name, Title: wordsIn(lang).title, Language: lang, Status: http.StatusConflict, Extra: map[string]any{},
	}
	if rule != nil {
		p.Extra["rule"] = rule.Name
	}
	if len(fields) > 0 {
		p.Extra["fields"] = fields
	}
	return p
}

// WriteConflict answers a request whose row is there already, in the language
// that the caller asks for: 409 as problem+json, or as a page. The type is
// urn:semel:problem:already-exists for a [*Conflict], and upsert-refused for a
// [*RefusedError]; the members rule and fields say what clashed, existing the row
// where [Conflict.Existing] is set. It reports whether err was one of the two;
// anything else it leaves to the caller, and writes nothing. To the middleware of
// package semelhttp it is an answer like any other, recorded and replayed.
func WriteConflict(w http.ResponseWriter, r *http.Request, err error, opts *ConflictOptions) bool {
	var o ConflictOptions
	if opts != nil {
		o = *opts
	}
	lang := rules.Language(strings.Join(r.Header["Accept-Language"], ","))
	t := told{sink: o.Log, outcome: outcomelog.Rejected, status: http.StatusConflict}
	var p refusal.Problem
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		p, t.rule, t.fields = refused.problem(lang), refused.Rule, refused.Fields
	} else if conflict, ok := errors.AsType[*Conflict](err); ok {
		p, t.rule, t.fields = conflict.problem(lang, o.Sent), conflict.Rule, conflict.Fields
	} else {
		return false
	}
	p.PolicyURL = o.PolicyURL
	t.tell(r.Context())
	refusal.Write(w, r, p)
	return true
}

// words holds the texts of a conflict in one language.
type words struct{ title, nameless, refused string }

func wordsIn(lang string) words {
	return map[string]words{
		"en": {
			"This already exists",
			"Nothing was created: something with the same unique value already exists.",
			"Nothing was changed: it already exists, and some of its values are different and can't be changed.",
		},
		"sv": {
			"Det finns redan",
			"Ingenting skapades: något med samma unika värde finns redan.",
			"Ingenting ändrades: det finns redan, och några av dess värden är andra och får inte ändras.",
		},
		"hi": {
			"यह पहले से मौजूद है",
			"कुछ भी नहीं बनाया गया: इसी विशिष्ट मान वाली प्रविष्टि पहले से मौजूद है।",
			"कुछ भी नहीं बदला गया: यह पहले से मौजूद है, और उसके कुछ मान अलग हैं जो बदले नहीं जा सकते।",
		},
		"zh": {
			"该记录已存在",
			"未创建任何内容：已存在具有相同唯一值的记录。",
			"未作任何更改：该记录已存在，且其中有不允许更改的值与之不同。",
		},
	}[lang]
}
