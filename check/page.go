package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/webform"
	"github.com/semel-dev/semel/check/wire"
)

// Page is the page with the form that is submitted. Every intent begins with a visit to it, and takes the form's hidden
// fields and default values; the fields in the template's body are those that a person types. A hidden field that the
// page fills in keeps the page's value, unless the template has a place such as {{uuid}} for it: a recorded token is of
// no use.
type Page struct {
	URL string // may have places
	// Form is the id, the name or the action of the form. Empty means the form that leads to the template's URL, or
	// else the only one that is sent by POST.
	Form string
}

// maxPageRedirects bounds how often a page may lead to another one.
const maxPageRedirects = 5

func (p *Page) validate(t *Template) error {
	at := Template{Method: http.MethodGet, URL: p.URL}
	if err := at.Validate(); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	_, err := t.typed()
	return err
}

func (t *Template) typed() ([]webform.Field, error) {
	r := wire.Request{Header: t.Header}
	fields, err := webform.ParseBody(r.Value("Content-Type"), t.Body)
	if err != nil {
		return nil, fmt.Errorf("a page's form is filled in from the request: %w", err)
	}
	return fields, nil
}

// draft is a page's form as a user has it open. Sending it twice sends the same bytes.
type draft struct {
	values   Values // those of the intent that opened it
	page     *url.URL
	form     *webform.Submission
	boundary string
}

// openPage visits the page on which the template is filled in, and keeps the cookies that it sets.
func (s *testRun) openPage(ctx context.Context, at *Page, t *Template, in *intent) (*draft, error) {
	r, err := t.fill(in.values)
	if err != nil {
		return nil, err
	}
	endpoint := r.URL
	if r.URL, err = parseTarget(in.values.Fill(at.URL)); err != nil {
		return nil, err
	}
	identify(&r, in.user, in.values)
	asPageRequest(&r)
	if !sameHost(r.URL, endpoint) { // credentials are for that host alone
		r.Header = slices.DeleteFunc(r.Header, func(f wire.Field) bool {
			return !slices.Contains([]string{"Accept", "Accept-Language", "User-Agent"}, http.CanonicalHeaderKey(f.Name))
		})
	}
	answer, err := s.visit(ctx, &r, in.user)
	if err != nil {
		return nil, fmt.Errorf("the page %s: %w", at.URL, err)
	}
	page, err := webform.Parse(answer.Body, r.URL)
	if err != nil {
		return nil, fmt.Errorf("the page %s: %w", r.URL.Redacted(), err)
	}
	form, err := at.choose(page, t, endpoint)
	if err != nil {
		return nil, fmt.Errorf("the page %s: %w", r.URL.Redacted(), err)
	}
	in.cookies = s.jars[in.user].Cookies(form.URL)
	return &draft{values: in.values, page: r.URL, form: form, boundary: "----semel-check-" + random(12)}, nil
}

// asPageRequest turns a form's request into the one that a browser sends to get its page.
func asPageRequest(r *wire.Request) {
	r.Method, r.Body = http.MethodGet, nil
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Encoding", "Origin", "Referer", "Accept"} {
		r.Del(name)
	}
	r.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	navigates(r, "none")
}

// navigates adds the headers that browsers send when a person opens another page.
func navigates(r *wire.Request, site string) {
	r.Set("Sec-Fetch-Dest", "document")
	r.Set("Sec-Fetch-Mode", "navigate")
	r.Set("Sec-Fetch-Site", site)
}

// visit gets a page, and follows redirects on the same host. Afterwards the request has the last URL.
func (s *testRun) visit(ctx context.Context, r *wire.Request, user *User) (*wire.Answer, error) {
	jar, own := s.jars[user], r.Value("Cookie")
	for range maxPageRedirects + 1 {
		if r.Del("Cookie"); own != "" {
			r.Set("Cookie", own)
		}
		setCookies(r, jar.Cookies(r.URL))
		answer, err := s.lookUp(ctx, r)
		if err != nil {
			return nil, err
		}
		store(jar, r, answer)
		switch {
		case answer.Status >= 300 && answer.Status < 400 && answer.Header.Get("Location") != "":
			next, err := r.URL.Parse(answer.Header.Get("Location"))
			if err != nil || !sameHost(next, r.URL) {
				return nil, fmt.Errorf("it redirects to %q, which is not on its host", answer.Header.Get("Location"))
			}
			r.URL = next
		case answer.Status != http.StatusOK:
			return nil, fmt.Errorf("the answer is %d; the page may require a log-in", answer.Status)
		case answer.Cut:
			return nil, errors.New("it is too long, or ended early")
		case answer.Header.Get("Content-Encoding") != "":
			return nil, fmt.Errorf("it comes in the coding %q, which was not asked for", answer.Header.Get("Content-Encoding"))
		default:
			return answer, nil
		}
	}
	return nil, fmt.Errorf("it redirects more than %d times", maxPageRedirects)
}

func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(wire.Address(a), wire.Address(b))
}

func (p *Page) choose(page *webform.Page, t *Template, endpoint *url.URL) (*webform.Submission, error) {
	typed, err := t.typed()
	if err != nil {
		return nil, err
	}
	var named []string
	for _, f := range typed {
		named = append(named, f.Name)
	}
	want := p.Form
	var found, leading []*webform.Submission
	for i := range page.Forms {
		f := &page.Forms[i]
		sent := f.Press(page.Base, named)
		switch {
		case want != "" && want != f.ID && want != f.Name && want != f.Action(), sent.Method != http.MethodPost:
			continue
		case sameHost(sent.URL, endpoint) && sent.URL.Path == endpoint.Path:
			leading = append(leading, sent)
		}
		found = append(found, sent)
	}
	if want == "" && len(leading) > 0 {
		found = leading
	}
	switch {
	case len(found) == 0 && want != "":
		return nil, fmt.Errorf("it has no form %q that is sent by POST", want)
	case len(found) == 0:
		return nil, errors.New("it has no form that is sent by POST")
	case len(found) > 1:
		return nil, fmt.Errorf("%d of its forms fit: say which one by its id, its name or its action", len(found))
	case !sameHost(found[0].URL, endpoint):
		return nil, fmt.Errorf("its form leads to %s, which is not the host of the request", found[0].URL.Redacted())
	}
	return found[0], nil
}

// submit turns the request into the one that a browser sends from the page. The typed fields are the template's, with
// the intent's values; hidden ones have those of the intent that opened the page.
func (in *intent) submit(r *wire.Request, t *Template) error {
	d := in.draft
	typed, err := t.typed()
	if err != nil {
		return err
	}
	contentType, body := webform.Encode(d.form.Coding, d.boundary, d.fields(typed, in.values))
	at := *d.form.URL
	r.Method, r.URL, r.Body = d.form.Method, &at, body
	r.Set("Content-Type", contentType)
	r.Set("Origin", d.page.Scheme+"://"+d.page.Host)
	referer := *d.page
	referer.User, referer.Fragment = nil, ""
	r.Set("Referer", referer.String())
	navigates(r, "same-origin")
	return nil
}

func (d *draft) fields(typed []webform.Field, values Values) []webform.Field {
	places := map[string]bool{}
	for _, f := range typed {
		places[f.Name] = places[f.Name] || len(place.Names(fieldTexts(f)...)) > 0
	}
	all := webform.Overlay(d.form.Fields, typed, func(f webform.Field) bool {
		return f.Kind == webform.Hidden && f.Value != "" && !places[f.Name]
	})
	for i := range all {
		switch {
		case !places[all[i].Name]:
		case all[i].Kind == webform.Hidden:
			all[i] = filledField(all[i], d.values)
		default:
			all[i] = filledField(all[i], values)
		}
	}
	return all
}

// fieldTexts returns the parts of a field that may have places: its value, and the name of its file.
func fieldTexts(f webform.Field) []string {
	if f.File == nil {
		return []string{f.Value}
	}
	return []string{f.Value, f.File.Name}
}

func filledField(f webform.Field, values Values) webform.Field {
	f.Value = values.Fill(f.Value)
	if f.File != nil {
		file := *f.File
		file.Name = values.Fill(file.Name)
		f.File = &file
	}
	return f
}
