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
	// Rule is the name of the rule that its path matches, if any.
	Rule string `json:"rule,omitempty"`
	// Nearest is the path of the rule that was probably meant, where none matches.
	Nearest string `json:"nearest,omitempty"`
	// Reader names what identifies the reader of the page, to whom the form is bound,
	// such as "cookie sessionid", or one of the Reader constants.
	Reader string `json:"reader,omitempty"`
	// Why says what keeps the script out.
	Why string `json:"why,omitempty"`

	scripted bool // its rule wants the script
}

// Inspect lists the forms of a page as the gateway would treat them. The request is the one that got the page, header and body are
// those of its answer, without content coding. Of a page that is longer than the config's MaxPageBytes it lists the forms that the
// gateway would see. The error says why the gateway passes a page on as it is, or that its forms cannot be read.
func Inspect(g Gateway, c *Config, r *http.Request, header http.Header, body io.Reader) ([]PageForm, error) {
	f := &Forms{gateway: g, config: c}
	w := &headerOnly{header: header}
	r = withCookiesOf(r, header)
	if err := f.script.load(); err != nil {
		return nil, err
	}
	page := newPageWriter(f, w, r, &attempt{}, nil)
	if reason := page.unfit(); reason != "" {
		return nil, untouchedPage(reason)
	}
	if coding := contentCoding(header); coding != "" {
		return nil, fmt.Errorf("gateway: read the page: it has the content coding %q", coding)
	}
	page.pass = allowElement(header[policyHeader], f.scriptElement(r.Host))
	finder := &formFinder{inserter: page.newInserter()}
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
		finder.withoutScript(page.whyNoScript())
	}
	return finder.found, nil
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
	ended bool // there is a place for the script
}

// Form implements rewrite.Inserter.
func (f *formFinder) Form(form *rewrite.Form) []byte {
	f.remember(form)
	return f.addForm(string(form.Action), form.Method)
}

// Submitter implements rewrite.Inserter.
func (f *formFinder) Submitter(s *rewrite.Submitter) []byte {
	if _, known := f.formOf(s); known || s.HasFormAction {
		return f.addForm(string(s.FormAction), cmp.Or(s.FormMethod, "post")) // as for its token
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

// withoutScript says of the forms whose rules want the script that there is none.
func (f *formFinder) withoutScript(why string) {
	for i := range f.found {
		if form := &f.found[i]; form.State == Protected && form.scripted {
			form.State, form.Why = NoScript, why
		}
	}
}

// addForm lists a form once for each place that it leads to. What it returns goes nowhere: it is something for a form that gets a token.
func (f *formFinder) addForm(action, method string) []byte {
	form := f.judge(action, method)
	if len(f.found) < maxPageForms && !slices.Contains(f.found, form) {
		f.found = append(f.found, form)
	}
	return []byte(form.Reader)
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
	found := g.Find(p.request.Host, &url.URL{Path: target.Path, RawPath: target.RawPath})
	form.State = Unprotected
	if found == nil {
		form.Nearest = g.Nearest(target.Path)
		return form
	}
	form.Rule = found.Rule.Name
	switch {
	case !found.Rule.Protect:
		form.State = Exempt
	case found.Rule.Form != nil:
		form.State, form.Reader, form.scripted = Protected, f.reader(found), found.Rule.Form.Script
	}
	return form
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
