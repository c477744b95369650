package gutcheck

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/cli/chromium"
	"github.com/semel-dev/semel/internal/waiting"
)

//go:embed form.js
var formJS string

// maxBodyBytes bounds how much of an answer is read before the browser gets it.
const maxBodyBytes = 1 << 20

// step is the pause between two looks at the browser.
const step = 20 * time.Millisecond

// scene is one way under way: a person with a browser of their own.
type scene struct {
	run     *run
	scripts bool
	profile *chromium.Profile
	tab     *chromium.Tab
	n       string

	mu      sync.Mutex // guards the fields below
	sent    []*sending
	begun   bool          // the form is filled in: what leaves from now on counts
	hold    bool          // the next answer waits
	loses   bool          // answers are lost until release
	stopped bool          // a request that counts, since the budget is spent
	pending bool          // a request was unanswered when the wait for it ended
	held    chan struct{} // closed when the held answer goes on
	notes   []string
	places  map[*chromium.Tab]place
}

// sending is a request that left the browser, and may change something.
type sending struct {
	status  int // zero until it is answered
	target  string
	body    []byte
	lost    bool
	settled bool // it is answered, or never will be
}

// newScene opens the page in a fresh profile, and fills in its form.
func (r *run) newScene(ctx context.Context, scripts bool) (s *scene, err error) {
	s = &scene{run: r, scripts: scripts, n: fresh(), places: map[*chromium.Tab]place{}}
	r.relay.Play(s)
	if s.profile, err = r.browser.Profile(ctx); err != nil {
		return nil, err
	}
	if s.tab, err = s.open(ctx); err != nil {
		return s, err
	}
	return s, nil
}

// close ends the scene.
func (s *scene) close(ctx context.Context) error {
	s.release()
	s.run.relay.Play(nil)
	return s.profile.Close(context.WithoutCancel(ctx))
}

// open opens the page in a new tab and fills in its form.
func (s *scene) open(ctx context.Context) (*chromium.Tab, error) {
	tab, err := s.profile.Tab(ctx, &chromium.TabOptions{NoScripts: !s.scripts})
	if err != nil {
		return nil, err
	}
	if err := tab.Open(ctx, s.run.config.URL); err != nil {
		return nil, fmt.Errorf("%s: %w", s.run.report.URL, cmp.Or(s.run.relay.Why(), err))
	}
	if status := tab.Page().Status; status >= http.StatusBadRequest || status == 0 {
		return nil, fmt.Errorf("%s answers %d, not with a page (behind a log-in, give the browser's cookies: -H 'Cookie: …')", s.run.report.URL, status)
	}
	if err := s.fill(ctx, tab); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	return tab, nil
}

// Leaves takes down a request that is about to leave the browser. False means that it must not.
func (s *scene) Leaves(r *http.Request, host string) (func(*http.Response) bool, bool) {
	if host == s.run.host {
		for name, value := range s.run.config.Header {
			r.Header.Set(name, value)
		}
	}
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method) {
		return nil, true
	}
	if allowed := s.run.config.Allowed; host != s.run.host && (allowed == nil || !allowed(host)) {
		s.note("requests to " + host + " were stopped: they may change something, and only requests to " + s.run.host + " were announced")
		return nil, false
	}
	if !counts(r) {
		return nil, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.run.spend() {
		s.stopped = true
		return nil, false
	}
	if !s.begun {
		return nil, true
	}
	one := &sending{}
	s.sent = append(s.sent, one)
	return func(answer *http.Response) bool {
		return answer == nil && s.breaks(one) || answer != nil && s.returns(one, answer)
	}, true
}

// counts reports whether a request that may change something counts. Beacons and reports do not, nor what the guard script sends.
func counts(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Dest") != "report" && r.Header.Get("Sec-Fetch-Mode") != "no-cors" && !strings.HasPrefix(r.URL.Path, "/.well-known/")
}

// breaks takes down that no answer comes.
func (s *scene) breaks(one *sending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.settled = true
	return false
}

// returns takes down an answer, and waits while it is held. False means that it gets lost.
func (s *scene) returns(one *sending, answer *http.Response) bool {
	most := int64(maxBodyBytes)
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") { // it has no end
		most = 0
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, most))
	rest := answer.Body
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	s.mu.Lock()
	one.status, one.target, one.body, one.settled = answer.StatusCode, answer.Header.Get("Location"), body, true
	if s.loses || err != nil {
		one.lost = true
		s.mu.Unlock()
		return false
	}
	var wait chan struct{}
	if s.hold {
		wait = make(chan struct{})
		s.hold, s.held = false, wait
	}
	s.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return true
}

func (s *scene) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

func (s *scene) holdNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = true
}

func (s *scene) loseNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loses = true
}

func (s *scene) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold, s.loses = false, false; s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// until waits until the condition holds, at most so long; it reports whether it does.
func (s *scene) until(ctx context.Context, most time.Duration, holds func() bool) bool {
	deadline := time.Now().Add(most)
	for {
		s.mu.Lock()
		ok := holds()
		s.mu.Unlock()
		if ok || time.Now().After(deadline) || !waiting.Sleep(ctx, step) {
			return ok
		}
	}
}

// wait passes the time before the next act: until the answer is held back, or the patience ends.
func (s *scene) wait(ctx context.Context) {
	left := s.until(ctx, s.run.config.Timeout, func() bool { return len(s.sent) > 0 })
	if left {
		s.until(ctx, s.run.config.Patience, func() bool { return s.held != nil })
	}
}

// lost waits until an answer is lost.
func (s *scene) lost(ctx context.Context) bool {
	return s.until(ctx, s.run.config.Timeout, func() bool { return slices.ContainsFunc(s.sent, func(one *sending) bool { return one.lost }) })
}

// answered waits until so many requests were answered, and the page has dealt with it.
func (s *scene) answered(ctx context.Context, count int) error {
	if !s.until(ctx, s.run.config.Timeout, func() bool { return len(s.sent) >= count && s.sent[count-1].status != 0 }) {
		return errors.New("no answer came in time")
	}
	return s.tab.Idle(ctx)
}

// leave leads away from the page by an act, and waits until the next page is there.
func (s *scene) leave(ctx context.Context, act func(context.Context) error) error {
	if err := act(ctx); err != nil {
		return err
	}
	deadline := time.Now().Add(s.run.config.Timeout)
	for {
		var same bool
		if err := s.tab.Run(ctx, "window.semelFilled === true", &same); err == nil && !same {
			return s.tab.Idle(ctx)
		}
		if time.Now().After(deadline) || !waiting.Sleep(ctx, step) {
			return errors.New("the page did not change")
		}
	}
}

// form calls the function of form.js.
func (s *scene) form(ctx context.Context, tab *chromium.Tab, act string, into any) error {
	values := check.Values{"n": s.n}
	given := maps.Clone(s.run.config.Values)
	for name, value := range given {
		given[name] = values.Fill(value)
	}
	if given == nil {
		given = map[string]string{}
	}
	arguments, err := json.Marshal([]any{s.run.config.Form, act, given, s.n})
	if err != nil {
		return err
	}
	var found struct{ Wrong string }
	var text json.RawMessage
	if err := tab.Run(ctx, "("+formJS+")(..."+string(arguments)+")", &text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return err
	}
	if found.Wrong != "" {
		return &FormError{found.Wrong}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// FormError is the reason for which the form is not there, or cannot be filled in.
type FormError struct{ why string }

func (e *FormError) Error() string { return e.why }

// shape tells forms apart: the request, the button and the fields.
type shape struct {
	Sends, Label string
	Fields       []string
}

// find looks for the form: the one of the first page, if there was one.
func (s *scene) find(ctx context.Context, tab *chromium.Tab) error {
	var found shape
	if err := s.form(ctx, tab, "find", &found); err != nil {
		return err
	}
	switch first := &s.run.shape; {
	case first.Label == "" && first.Sends == "":
		*first = found
	case found.Sends != first.Sends || !slices.Equal(found.Fields, first.Fields):
		return &FormError{"the page has another form"}
	}
	return nil
}

// there reports whether the page has the form.
func (s *scene) there(ctx context.Context, tab *chromium.Tab) bool { return s.find(ctx, tab) == nil }

// fill waits for the form, which a script may make late, and fills it in. It remembers where the button is: while a page is under way,
// Chromium evaluates nothing.
func (s *scene) fill(ctx context.Context, tab *chromium.Tab) error {
	deadline := time.Now().Add(s.run.config.Timeout)
	if !s.scripts {
		deadline = time.Now() // nothing will change it
	}
	for {
		err := s.find(ctx, tab)
		if err == nil {
			break
		}
		if _, missing := errors.AsType[*FormError](err); !missing || time.Now().After(deadline) || !waiting.Sleep(ctx, step) {
			return err
		}
	}
	var filled struct{ Invalid []string }
	var at place
	if err := s.form(ctx, tab, "fill", &filled); err != nil {
		return err
	}
	if len(filled.Invalid) > 0 {
		return &FormError{fmt.Sprintf("the browser refuses the values of %s: give others, such as --var '%s=VALUE'", strings.Join(filled.Invalid, ", "), filled.Invalid[0])}
	}
	if err := errors.Join(s.form(ctx, tab, "place", &at), tab.Run(ctx, "window.semelFilled = true", nil)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[tab] = at
	return nil
}

// place is the middle of a button, in the window.
type place struct{ X, Y float64 }

// press clicks the form's button. count is 2 for the second press of a double click.
func (s *scene) press(ctx context.Context, count int) error { return s.pressIn(ctx, s.tab, count) }

func (s *scene) pressIn(ctx context.Context, tab *chromium.Tab, count int) error {
	s.mu.Lock()
	at := s.places[tab]
	s.mu.Unlock()
	return tab.Click(ctx, at.X, at.Y, count)
}

// enter presses the key in the first field of the form.
func (s *scene) enter(ctx context.Context) error {
	if err := s.form(ctx, s.tab, "focus", nil); err != nil {
		return err
	}
	return s.tab.Enter(ctx)
}
