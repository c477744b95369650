package forms

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

// State says what the rules do about a form.
type State string

// The states of a form of a page.
const (
	Protected   State = "protected"   // a rule with form takes it
	Depends     State = "depends"     // the same, if the form and its header are as the rule's conditions want
	Password    State = "password"    // a rule with form takes it, and it asks for a password: it gets no token
	NoScript    State = "no-script"   // the same, and the page cannot have the script
	Exempt      State = "exempt"      // a rule with protect: false takes it
	Unprotected State = "unprotected" // no rule takes it, or one without form
	Elsewhere   State = "elsewhere"   // it leads to another host
	Reads       State = "reads"       // it changes nothing: GET, or a dialog
)

// Readers of a page that a form's Reader names where nothing of the application's identifies them.
const (
	ReaderNone    = "nobody"                  // the rule's scope finds nothing, so the form gets no token
	ReaderVisitor = "cookie " + visitorCookie // only a cookie of the gateway's own
)

// PageForm is a form of a page, or a button of one that leads elsewhere than it.
type PageForm struct {
	Method string `json:"method"`
	Action string `json:"action"` // the path it leads to; with another host, the URL
	State  State  `json:"state"`
	// Rule names the rule that it meets, or all that it may meet.
	Rule string `json:"rule,omitempty"`
	// Because lists the rules of its path, with the conditions that decide.
	Because string `json:"because,omitempty"`
	// Nearest is the path of the rule that was probably meant, where none matches.
	Nearest string `json:"nearest,omitempty"`
	// Reader names what identifies the reader of the page, to whom the form is bound,
	// such as "cookie sessionid", or one of the Reader constants.
	Reader string `json:"reader,omitempty"`
	// Why says what keeps the script out.
	Why string `json:"why,omitempty"`

	scripted bool // its rule wants the script
	public   bool // its rule gives no token to a form that asks for a password
}

// Candidate is a route for the method, host and path of a request.
type Candidate struct {
	Route   string
	Pattern string // method, host and path; empty for the default route
	Verdict Verdict
	// Why lists the conditions that decide, or that are all met.
	Why []string
}

// Verdict says whether a request meets a route.
type Verdict string

// The verdicts.
const (
	Meets     Verdict = "meets"
	May       Verdict = "may meet"
	MeetsNot  Verdict = "does not meet"
	Ambiguous Verdict = "can be read either way: refused"
)

// String says it in a sentence without its subject.
func (c *Candidate) String() string {
	if c.Pattern == "" {
		return string(c.Verdict) + " no rule"
	}
	return string(c.Verdict) + " " + c.Route + ": " + cmp.Or(strings.Join(c.Why, ", "), c.Pattern)
}

// Inspect lists the forms of a page as the gateway would treat them. The request is the one that got the page, header and body are
// those of its answer, without content coding. Of a page that is longer than the config's MaxPageBytes it lists the forms that the
// gateway would see. The error says why the gateway passes a page on as it is, or that its forms cannot be read.
func Inspect(g Gateway, c *Config, r *http.Request, header http.Header, body io.Reader) ([]PageForm, error) {
	f := &Forms{gateway: g, config: c}
	w := &headerOnly{header: header}
	r = withCookiesOf(r, header)
	if err := f.guard.load("guard.js"); err != nil {
		return nil, err
	}
	page := newPageWriter(f, w, r, &attempt{}, nil)
	if reason := page.unfit(); reason != "" {
		return nil, untouchedPage(reason)
	}
	if coding := contentCoding(header); coding != "" {
		return nil, fmt.Errorf("gateway: read the page: it has the content coding %q", coding)
	}
	page.pass = allowElement(header[policyHeader], f.guard.element(r.Host))
	finder := &formFinder{inserter: page.newInserter(), at: map[*rewrite.Form]int{}, ids: map[string]int{}}
	rewriter := rewrite.NewWriter(io.Discard, finder, &rewrite.Options{Charset: charsetOf(header), XML: finder.xhtml, MaxBytes: c.MaxPageBytes})
	if _, err := io.Copy(rewriter, body); err != nil {
		return nil, fmt.Errorf("gateway: read the page: %w", err)
	}
	if err := rewriter.Close(); err != nil {
		return nil, fmt.Errorf("gateway: read the page: %w", err)
	}
	page.rewriter = rewriter
	if reason := page.gaveUp(); reason != "" && reason != pageTooLarge {
		return nil, untouchedPage(reason)
	}
	if !page.pass.allowed || !finder.ended {
		finder.withoutScript(whyNoScript(&page.pass))
	}
	var found []PageForm
	for i, form := range finder.found {
		if finder.uses[i] > 0 && !slices.Contains(found, form) {
			found = append(found, form)
		}
	}
	return found, nil
}

// withCookiesOf returns the request as the browser sends it once it has the page's
// cookies: a first visit, which shows none, would be that of a guest.
func withCookiesOf(r *http.Request, page http.Header) *http.Request {
	r = r.Clone(r.Context())
	for _, c := range (&http.Response{Header: page}).Cookies() {
		if c.MaxAge >= 0 {
			r.AddCookie(c)
		}
	}
	return r
}

// untouchedPage says why no form of a page gets a token.
func untouchedPage(reason string) error {
	return fmt.Errorf("gateway: the page is passed on as it is, and its forms get no token: %s", cmp.Or(whyUntouched(reason), reason))
}

// headerOnly is the writer of a page that goes nowhere.
type headerOnly struct {
	http.ResponseWriter
	header http.Header
}

// Header implements http.ResponseWriter.
func (w *headerOnly) Header() http.Header { return w.header }

// formFinder notes what it meets. It is a rewrite.Inserter.
type formFinder struct {
	*inserter
	found []PageForm
	uses  []int                 // of each of these
	at    map[*rewrite.Form]int // of the open forms
	ids   map[string]int
	ended bool // there is a place for the script
}

// Form implements rewrite.Inserter.
func (f *formFinder) Form(form *rewrite.Form) []byte {
	f.remember(form)
	out, i := f.addForm(string(form.Action), form.Method)
	f.at[form] = i
	if len(form.ID) > 0 {
		f.ids[string(form.ID)] = i
	}
	return out
}

// Password implements rewrite.Inserter.
func (f *formFinder) Password(s *rewrite.Submitter) []byte {
	i, known := f.at[s.Form]
	if len(s.FormID) > 0 {
		i, known = f.ids[string(s.FormID)]
	}
	if !known || i < 0 || !f.found[i].public || f.found[i].State != Protected && f.found[i].State != Depends {
		return nil
	}
	form := f.found[i]
	form.State = Password
	f.uses[i]--
	at := f.count(form)
	if len(s.FormID) > 0 {
		f.ids[string(s.FormID)] = at
	} else {
		f.at[s.Form] = at
	}
	return nil
}

// Submitter implements rewrite.Inserter.
func (f *formFinder) Submitter(s *rewrite.Submitter) []byte {
	if _, known := f.formOf(s); known || s.HasFormAction {
		out, _ := f.addForm(string(s.FormAction), cmp.Or(s.FormMethod, "post")) // as for its token
		return out
	}
	return nil
}

// Body implements rewrite.Inserter.
func (f *formFinder) Body() []byte { return nil }

// Head implements rewrite.Inserter.
func (f *formFinder) Head(closed bool) { f.End(!closed) }

// End implements rewrite.Inserter.
func (f *formFinder) End(behind bool) []byte {
	f.ended = f.ended || !behind || !f.xhtml
	return nil
}

// withoutScript reports forms whose rules want the script, which is missing.
func (f *formFinder) withoutScript(why string) {
	for i := range f.found {
		if form := &f.found[i]; form.State == Protected && form.scripted {
			form.State, form.Why = NoScript, why
		}
	}
}

// addForm lists a form once for each place that it leads to. What it returns goes nowhere: it is something for a form that gets a token.
func (f *formFinder) addForm(action, method string) (out []byte, at int) {
	form := f.judge(action, method)
	return []byte(form.Reader), f.count(form)
}

// count returns the place of a form in the list, -1 for none.
func (f *formFinder) count(form PageForm) int {
	i := slices.Index(f.found, form)
	switch {
	case i < 0 && len(f.found) >= maxPageForms:
		return -1
	case i < 0:
		i = len(f.found)
		f.found, f.uses = append(f.found, form), append(f.uses, 0)
	}
	f.uses[i]++
	return i
}

func (f *formFinder) judge(action, method string) PageForm {
	p, g := f.page, f.page.forms.gateway
	form := PageForm{Method: strings.ToUpper(method)}
	target := p.request.URL
	if text := asBrowsersRead(action); text != "" {
		var err error
		if target, err = f.base.Parse(text); err != nil {
			form.Action, form.State = action, Elsewhere
			return form
		}
	}
	form.Action = target.EscapedPath()
	switch {
	case method != "post":
		form.State = Reads
		return form
	case action != "" && (target.Scheme != "http" && target.Scheme != "https" || !sameHost(p.request, target)):
		form.Action, form.State = target.Scheme+"://"+target.Host+form.Action, Elsewhere
		return form
	}
	to := &url.URL{Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery}
	_, found := g.Find(p.request.Host, to)
	all := g.Explain(p.request.Host, to)
	form.State = Unprotected
	if len(all) == 1 && len(found) == 0 {
		form.Nearest = g.Nearest(target.Path)
		return form
	}
	for i := range all {
		form.Because += strings.Repeat("; ", min(i, 1)) + all[i].String()
	}
	if len(found) == 0 {
		return form
	}
	f.judgeRoutes(&form, found, all[len(all)-1].Pattern != "")
	return form
}

// judgeRoutes fills in the state of a form that may meet these routes; whole reports whether it meets one of them for sure.
func (f *formFinder) judgeRoutes(form *PageForm, found []*Route, whole bool) {
	var names []string
	tokens := 0
	form.public = true
	for _, rt := range found {
		names = append(names, rt.Rule.Name)
		if rt.Rule.Form == nil {
			whole = whole && !rt.Rule.Protect
			continue
		}
		if tokens++; tokens == 1 {
			form.Reader, form.scripted = f.reader(rt), rt.Rule.Form.Script
		}
		form.public = form.public && !rt.Rule.Form.Passwords
	}
	form.Rule = strings.Join(names, ", ")
	switch {
	case whole && tokens == 0:
		form.State = Exempt
	case whole:
		form.State = Protected
	case tokens > 0:
		form.State = Depends
	}
}

// reader says what the reader of the page is known by.
func (f *formFinder) reader(found *Route) string {
	id, ok := f.page.reader.identity(found.Rule.Scope)
	kind, _, _ := strings.Cut(id.principal, "\n")
	switch {
	case !ok:
		return ReaderNone
	case kind == "":
		return ReaderVisitor
	case id.visitor:
		return kind + ", " + ReaderVisitor
	}
	return kind
}
