package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// pollStep is the pause between two looks at a tab.
	pollStep = 25 * time.Millisecond
	// quiet is the time without traffic after which a tab is idle.
	quiet = 100 * time.Millisecond
	// longPoll is the age at which a script's request no longer keeps a tab busy: the server may hold it for minutes.
	longPoll = 2 * time.Second
)

// TabOptions configure a tab. Nil is complete.
type TabOptions struct {
	// NoScripts keeps the pages' scripts from running.
	NoScripts bool
	// Leaves is asked for each request before it leaves the browser, and says whether it may. It must not wait. Nil allows all.
	Leaves func(Request) bool
}

// Request is a request of a page.
type Request struct {
	Method, URL string
	// Kind is Document, Fetch, XHR, Script, Image, Ping and the like.
	Kind string
}

// Tab is a tab of a profile. It is safe for concurrent use.
type Tab struct {
	browser *Browser
	session string
	options TabOptions

	mu       sync.Mutex // guards the fields below
	underWay map[string]loading
	since    time.Time // when underWay last changed
	page     Page
}

// loading is a request of the page that has not ended.
type loading struct {
	began  time.Time
	script bool // by fetch or XMLHttpRequest
}

// Page is the answer with which the tab's page came.
type Page struct {
	URL    string
	Status int
	Header http.Header
}

// Tab opens a tab with an empty page. It ends with its profile.
func (p *Profile) Tab(ctx context.Context, o *TabOptions) (*Tab, error) {
	if o == nil {
		o = &TabOptions{}
	}
	var made struct{ TargetID string }
	if err := p.browser.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.id}, &made); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	if err := p.browser.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	t := &Tab{browser: p.browser, session: attached.SessionID, options: *o, underWay: map[string]loading{}, since: time.Now()}
	p.browser.mu.Lock()
	p.browser.tabs[t.session] = t
	p.browser.mu.Unlock()
	for _, method := range []string{"Page.enable", "Network.enable", "Emulation.setFocusEmulationEnabled", "Emulation.setScriptExecutionDisabled", "Fetch.enable"} {
		params := map[string]any{"enabled": true} // commands ignore what they have no use for
		switch {
		case method == "Emulation.setScriptExecutionDisabled":
			params = map[string]any{"value": o.NoScripts}
		case method == "Fetch.enable" && o.Leaves == nil:
			continue
		case method != "Emulation.setFocusEmulationEnabled":
			params = nil
		}
		if err := t.call(ctx, method, params, nil); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Tab) call(ctx context.Context, method string, params map[string]any, into any) error {
	if params == nil {
		params = map[string]any{}
	}
	return t.browser.call(ctx, t.session, method, params, into)
}

// later sends a command and does not wait: it fails when the page is gone.
func (t *Tab) later(method string, params map[string]any) {
	_, _ = t.browser.send(t.session, method, params, nil)
}

// handle takes in an event.
func (t *Tab) handle(e *event) {
	var of struct {
		RequestID, Type, LoaderID, ResourceType string
		Request                                 struct{ Method, URL string }
		Response                                struct {
			URL     string
			Status  int
			Headers map[string]string
		}
	}
	if json.Unmarshal(e.Params, &of) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Method {
	case "Fetch.requestPaused":
		if t.options.Leaves(Request{of.Request.Method, of.Request.URL, of.ResourceType}) {
			t.later("Fetch.continueRequest", map[string]any{"requestId": of.RequestID})
		} else {
			t.later("Fetch.failRequest", map[string]any{"requestId": of.RequestID, "errorReason": "BlockedByClient"})
		}
	case "Page.javascriptDialogOpening":
		t.later("Page.handleJavaScriptDialog", map[string]any{"accept": true})
	case "Network.responseReceived":
		if of.Type == "Document" && of.RequestID == of.LoaderID {
			t.page = Page{of.Response.URL, of.Response.Status, headerOf(of.Response.Headers)}
		}
	case "Network.requestWillBeSent":
		late := slices.Contains([]string{"EventSource", "WebSocket", "Ping"}, of.Type) // no page waits for these
		if !late && of.LoaderID != "" {                                                // without a loader it is a worker's, and ends in its session
			t.underWay[of.RequestID], t.since = loading{time.Now(), of.Type == "Fetch" || of.Type == "XHR"}, time.Now()
		}
	case "Network.loadingFinished", "Network.loadingFailed":
		delete(t.underWay, of.RequestID)
		t.since = time.Now()
	}
}

// headerOf reads header lines; several lines of one name are separated by line breaks.
func headerOf(of map[string]string) http.Header {
	h := http.Header{}
	for name, lines := range of {
		for line := range strings.SplitSeq(lines, "\n") {
			h.Add(name, line)
		}
	}
	return h
}

// Go leads to an address as if it had been typed, and does not wait for the page.
func (t *Tab) Go(address string) {
	t.touch()
	t.later("Page.navigate", map[string]any{"url": address, "transitionType": "typed"})
}

// Open leads to an address, and waits until the tab is idle.
func (t *Tab) Open(ctx context.Context, address string) error {
	t.touch()
	var went struct{ ErrorText string }
	err := t.call(ctx, "Page.navigate", map[string]any{"url": address, "transitionType": "typed"}, &went)
	if err == nil && went.ErrorText != "" {
		err = errors.New(went.ErrorText)
	}
	if err != nil {
		return err
	}
	return t.Idle(ctx)
}

// Reload loads the page anew, and does not wait for it.
func (t *Tab) Reload() {
	t.touch()
	t.later("Page.reload", nil)
}

// touch lets the tab count as busy for a moment, until what was just started shows.
func (t *Tab) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = time.Now()
}

// Back goes to the page before; false means that there is none.
func (t *Tab) Back(ctx context.Context) (bool, error) {
	var history struct {
		CurrentIndex int
		Entries      []struct {
			ID  int
			URL string
		}
	}
	if err := t.call(ctx, "Page.getNavigationHistory", nil, &history); err != nil {
		return false, err
	}
	if history.CurrentIndex < 1 || history.Entries[history.CurrentIndex-1].URL == "about:blank" {
		return false, nil
	}
	t.touch()
	t.later("Page.navigateToHistoryEntry", map[string]any{"entryId": history.Entries[history.CurrentIndex-1].ID})
	return true, nil
}

// Click presses the mouse at a place of the window. count is 2 for the second press of a double click.
func (t *Tab) Click(ctx context.Context, x, y float64, count int) error {
	t.touch()
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		params := map[string]any{"type": kind, "x": x, "y": y}
		if kind != "mouseMoved" {
			params["button"], params["clickCount"] = "left", count
		}
		if err := t.call(ctx, "Input.dispatchMouseEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// Enter presses the key in the field that has the focus.
func (t *Tab) Enter(ctx context.Context) error {
	t.touch()
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
		if kind == "keyDown" {
			params["text"] = "\r"
		}
		if err := t.call(ctx, "Input.dispatchKeyEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// Run evaluates an expression in the page, even where the page's own scripts are off. into takes its value; it may be nil. While the tab
// is on its way to another page, Chromium evaluates nothing, and Run waits.
func (t *Tab) Run(ctx context.Context, expression string, into any) error {
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := t.call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "userGesture": true}, &got); err != nil {
		return err
	}
	if wrong := got.ExceptionDetails; wrong != nil {
		return errors.New("in the page: " + wrong.Text + " " + wrong.Exception.Description)
	}
	if into == nil || len(got.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(got.Result.Value, into)
}

// busy reports whether something is under way for which a page waits.
func (t *Tab) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.underWay {
		if !one.script || time.Since(one.began) < longPoll {
			return true
		}
	}
	return time.Since(t.since) < quiet
}

// Idle waits until the page is whole and nothing is under way but what a server holds for long.
func (t *Tab) Idle(ctx context.Context) error {
	for {
		if !t.busy() {
			var state string
			err := t.Run(ctx, "document.readyState", &state)
			if err == nil && state == "complete" {
				return nil
			}
			if errors.Is(err, errEnded) {
				return err
			}
		}
		if !waiting.Sleep(ctx, pollStep) {
			return fmt.Errorf("the page is not done loading: %w", ctx.Err())
		}
	}
}

// Page returns the answer with which the present page came.
func (t *Tab) Page() Page {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Page{t.page.URL, t.page.Status, maps.Clone(t.page.Header)}
}
