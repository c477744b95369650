package gutcheck

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/cli/chromium"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/texts"
)

const (
	// sendingsPerPress bounds the requests of a press: pages ask again on their own.
	sendingsPerPress = 3
	// patience is the time that a person waits for an answer before the next act.
	patience = 150 * time.Millisecond
)

// Config says which form is sent. URL, Timeout and Settle are required.
type Config struct {
	URL string
	// Form is the CSS selector of the form, or of its button. Empty means the only form without a password.
	Form string
	// Values are the texts that a person types, by the names of fields. {{n}} is a number of the way.
	Values map[string]string
	// Header has lines for the requests to the URL's host.
	Header map[string]string
	// Counters count effects. Without any, answers are compared.
	Counters []check.Counter
	// Timeout bounds the wait for a page or an answer, Settle how long an effect may take to be seen.
	Timeout, Settle time.Duration
	// Patience is the wait before the next act while the answer is under way. Zero means 150 ms.
	Patience time.Duration
	// Allowed reports whether requests that change something may go to a host other than the URL's. Nil allows none.
	Allowed func(host string) bool
	// Only are the names of the ways to go besides the first. Empty means all.
	Only []string
	// TLS is used for https; nil means the authorities of the machine.
	TLS *tls.Config
	// Browser is the path of the Chromium. Empty means the one on PATH.
	Browser string
	// Progress, when set, is called with the progress of the run.
	Progress func(done, all int, what string)
}

// Requests returns the most requests that leave the browser and may change something.
func Requests() int { return presses() * len(modes()) * sendingsPerPress }

// modes are: with scripts, and without.
func modes() []bool { return []bool{true, false} }

// Report is the result of a run.
type Report struct {
	URL     string `json:"url"`
	Browser string `json:"browser"`
	// Sends names the request of the form without scripts, if it has one; Button is the text of its button.
	Sends    string   `json:"sends,omitempty"`
	Button   string   `json:"button"`
	Counters []string `json:"counters"`
	// Scriptless is why the page was not tried without scripts; empty if it was.
	Scriptless string   `json:"without_scripts_left_out,omitempty"`
	Results    []Result `json:"results"`
	Sent       int      `json:"sent"`
	Notes      []string `json:"notes,omitempty"`
}

// Result is the outcome of a way.
type Result struct {
	Way     string `json:"way"`
	Scripts bool   `json:"scripts"`
	// Sent is the number of requests that left the browser. Effects is -1 without a counter.
	Sent    int     `json:"sent"`
	Effects int64   `json:"effects"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// Verdict is the judgement of a way.
type Verdict string

// The verdicts.
const (
	Once     Verdict = "once"
	Twice    Verdict = "twice"
	Another  Verdict = "another" // twice, and perhaps meant
	Nothing  Verdict = "nothing"
	Unclear  Verdict = "unclear" // the answers are alike, and no counter decides
	LeftOut  Verdict = "left_out"
	Unjudged Verdict = "unjudged"
)

// run is a run under way.
type run struct {
	config  *Config
	relay   *chromium.Relay
	browser *chromium.Browser
	host    string
	report  *Report
	shape   shape         // the form of the first page
	lag     time.Duration // how late effects are seen

	mu     sync.Mutex // guards the field below
	budget int        // requests
}

// Run goes every way. The error is for a run without any verdict.
func Run(ctx context.Context, c *Config) (report *Report, err error) {
	at, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	if c.Patience == 0 {
		c.Patience = patience
	}
	relay, err := chromium.NewRelay(c.TLS, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, relay.Close()) }()
	flags, err := relay.Flags()
	if err != nil {
		return nil, err
	}
	browser, err := chromium.Open(ctx, &chromium.Options{Path: c.Browser, Flags: flags})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, browser.Close()) }()
	r := &run{config: c, relay: relay, browser: browser, host: hostOf(at), budget: Requests(), report: &Report{URL: at.Redacted(), Browser: browser.Version(), Counters: []string{}, Results: []Result{}}}
	for _, counter := range c.Counters {
		r.report.Counters = append(r.report.Counters, counter.Name())
	}
	return r.report, r.goEvery(ctx)
}

// hostOf writes a host as browsers do.
func hostOf(at *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(at.Host), map[string]string{"http": ":80", "https": ":443"}[at.Scheme])
}

// goEvery goes every way, with scripts and without.
func (r *run) goEvery(ctx context.Context) error {
	c := r.config
	all := slices.DeleteFunc(ways(), func(w way) bool { return len(c.Only) > 0 && w.name != firstWay && !slices.Contains(c.Only, w.name) })
	for mode, scripts := range modes() {
		for i := range all {
			r.progress(mode*len(all)+i, len(all)*len(modes()), all[i].name)
			result, err := r.try(ctx, &all[i], scripts)
			r.report.Sends, r.report.Button = r.shape.Sends, r.shape.Label
			if err != nil {
				return err
			}
			if i == 0 && result.Verdict != Once && result.Verdict != Unclear {
				if scripts {
					return &PremiseError{result.premise()}
				}
				r.report.Scriptless = result.Reason
				break
			}
			r.report.Results = append(r.report.Results, result)
		}
	}
	return nil
}

func (r *run) progress(done, all int, what string) {
	if r.config.Progress != nil {
		r.config.Progress(done, all, what)
	}
}

// premise is the reason for which a single click starts no run.
func (one *Result) premise() string {
	switch {
	case one.Verdict == Nothing:
		return "a single click has no effect: " + one.Reason
	case one.Effects > 1:
		return "a single click has " + texts.Count(one.Effects, "effect")
	case one.Verdict == Twice:
		return "a single click was sent more than once, and the answers name different things"
	}
	return "a single click could not be judged: " + one.Reason
}

// PremiseError ends a run: already a single click has not one effect.
type PremiseError struct{ why string }

func (e *PremiseError) Error() string { return e.why }

// Fine reports whether every way had one effect, as far as it can be told.
func (r *Report) Fine() bool {
	for _, one := range r.Results {
		if one.Verdict == Twice || one.Verdict == Nothing || one.Verdict == Unclear || one.Verdict == Unjudged {
			return false
		}
	}
	return len(r.Results) > 0
}

// Count returns how many ways have the verdict.
func (r *Report) Count(v Verdict) (n int) {
	for _, one := range r.Results {
		if one.Verdict == v {
			n++
		}
	}
	return n
}

// fresh returns a number of 16 digits.
func fresh() string {
	n := must.Get(rand.Int(rand.Reader, big.NewInt(9e15)))
	return fmt.Sprint(n.Int64() + 1e15)
}
