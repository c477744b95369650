package gutcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// quiet is the time without a request after which a page counts as done.
	quiet = 300 * time.Millisecond
	// waitsPerWay bounds a way, in timeouts, besides the wait for effects.
	waitsPerWay = 6
	// settlesPerWay bounds the waits for effects: for the lag of earlier ones, the first one, and another one.
	settlesPerWay = 3
)

// try goes a way and judges it. The error ends the run: the page, or the counting, cannot be used.
func (r *run) try(ctx context.Context, w *way, scripts bool) (Result, error) {
	within, cancel := context.WithTimeout(ctx, waitsPerWay*r.config.Timeout+settlesPerWay*r.config.Settle)
	defer cancel()
	result, err := r.attempt(within, w, scripts)
	if within.Err() != nil && ctx.Err() == nil { // what ended early says nothing
		result.Effects, result.Verdict, result.Reason, err = -1, Unjudged, "it took too long", nil
	}
	return result, err
}

// attempt goes a way, as far as its time allows.
func (r *run) attempt(ctx context.Context, w *way, scripts bool) (result Result, err error) {
	result = Result{Way: w.name, Scripts: scripts, Effects: -1}
	s, err := r.newScene(ctx, scripts)
	if s != nil {
		defer func() {
			err = errors.Join(err, s.close(ctx))
			s.tally(r.report)
		}()
	}
	if missing, ok := errors.AsType[*FormError](err); ok && !scripts {
		result.Verdict, result.Reason = LeftOut, "without scripts the page has no form to send: "+missing.why
		return result, nil
	}
	if err != nil {
		return result, err
	}
	before, err := r.count(ctx, s.n)
	if err != nil {
		return result, err
	}
	acted := w.act(ctx, s)
	s.release()
	s.calm(ctx)
	if result.Effects, err = r.effects(ctx, s.n, before); err != nil {
		return result, err
	}
	s.judge(&result, w, acted)
	return result, ctx.Err()
}

// tally adds to the report what was sent, and the notes.
func (s *scene) tally(report *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, note := range s.notes {
		if !slices.Contains(report.Notes, note) {
			report.Notes = append(report.Notes, note)
		}
	}
	report.Sent += len(s.sent)
}

// calm waits until the page sends no more, and each request is answered, even one that the browser gave up: its effect may be the second.
func (s *scene) calm(ctx context.Context) {
	last, since := -1, time.Now()
	s.until(ctx, s.run.config.Timeout, func() bool {
		if len(s.sent) != last {
			last, since = len(s.sent), time.Now()
		}
		s.pending = slices.ContainsFunc(s.sent, func(one *sending) bool { return !one.settled })
		return !s.pending && time.Since(since) >= quiet
	})
}

// spend takes a request from the budget.
func (r *run) spend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget--
	return r.budget >= 0
}

// count returns what each counter counts for a number.
func (r *run) count(ctx context.Context, n string) ([]int64, error) {
	fill := func(text string) string { return check.Values{"n": n}.Fill(text) }
	var all []int64
	for _, counter := range r.config.Counters {
		count, err := counter.Count(ctx, fill)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", counter.Name(), err)
		}
		all = append(all, count)
	}
	return all, nil
}

// effects returns how many effects there were since. It waits for the first one until Settle, and then for others: at least quiet, and
// twice the time that the first one took.
func (r *run) effects(ctx context.Context, n string, before []int64) (int64, error) {
	if len(before) == 0 {
		return -1, nil
	}
	waiting.Sleep(ctx, r.lag)
	first, err := r.firstEffects(ctx, n, before)
	if err != nil || first == 0 {
		return first, err
	}
	waiting.Sleep(ctx, max(quiet, r.lag))
	return r.firstEffects(ctx, n, before)
}

// firstEffects waits until the counters agree that there were some.
func (r *run) firstEffects(ctx context.Context, n string, before []int64) (int64, error) {
	for began := time.Now(); ; {
		now, err := r.count(ctx, n)
		if err != nil {
			return 0, err
		}
		agree := true
		for i := range now {
			now[i] -= before[i]
			agree = agree && now[i] == now[0]
		}
		late := time.Since(began) > r.config.Settle
		switch {
		case agree && now[0] > 0:
			if seen := time.Since(began); seen > step {
				r.lag = max(r.lag, min(2*seen, r.config.Settle))
			}
			return now[0], nil
		case late && !agree:
			return 0, fmt.Errorf("the counters disagree: %v", now)
		case late && now[0] < 0:
			return 0, fmt.Errorf("%s fell: something else uses the application, so count for one wish, such as by {{n}}", r.config.Counters[0].Name())
		case late:
			return 0, nil
		}
		if !waiting.Sleep(ctx, step) {
			return 0, ctx.Err()
		}
	}
}

// judge fills in the verdict on a way that ended with this error.
func (s *scene) judge(result *Result, w *way, acted error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result.Sent = len(s.sent)
	noWay, missing := errors.AsType[*noWayError](acted)
	switch {
	case s.stopped && result.Effects <= 1: // two effects are enough for a verdict
		result.Verdict, result.Reason = Unjudged, "more requests than announced were stopped"
	case s.pending && result.Effects <= 1:
		result.Verdict, result.Reason = Unjudged, "a request was still unanswered, and may take effect later: give it time with --timeout"
	case missing:
		result.Verdict, result.Reason = LeftOut, noWay.why
	case acted != nil:
		result.Verdict, result.Reason = Unjudged, acted.Error()
	default:
		s.compareEffects(result, w)
	}
}

// compareEffects fills in the verdict on a way that was gone to its end. s.mu is held.
func (s *scene) compareEffects(result *Result, w *way) {
	more := Twice
	if why := w.meant; why != "" || w.unscripted != "" && !s.scripts {
		if more, result.Reason = Another, why; why == "" {
			result.Reason = w.unscripted
		}
	}
	switch {
	case result.Effects > 1:
		result.Verdict = more
		return
	case result.Effects == 0:
		result.Verdict, result.Reason = Nothing, s.said()
		return
	}
	result.Reason = ""
	switch differ, known := s.compare(); {
	case result.Effects == 1:
		result.Verdict = Once
	case len(s.sent) == 0:
		result.Verdict, result.Reason = Nothing, s.said()
	case !known:
		result.Verdict, result.Reason = Unclear, "the answers are alike, which tells nothing: count effects with --count"
	case differ:
		result.Verdict = more
	default:
		result.Verdict = Once
	}
}

// said quotes the last status.
func (s *scene) said() string {
	if len(s.sent) == 0 {
		return "no request left the browser"
	}
	status := s.sent[len(s.sent)-1].status
	if status == 0 {
		return "no answer came"
	}
	return fmt.Sprintf("the application answered %d", status)
}

// named finds what answers name: a number or a long id in the path of a redirect.
var named = regexp.MustCompile(`\d+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9A-Za-z_-]{16,}`)

// compare reports whether the answers name different things; known is false if they name none. Refusals name nothing, and made nothing.
func (s *scene) compare() (differ, known bool) {
	var things []string
	unnamed := 0
	for _, one := range s.sent {
		switch thing := one.thing(); {
		case one.status == 0, thing == "":
			unnamed++
		case one.status < http.StatusBadRequest:
			things = append(things, thing)
		}
	}
	slices.Sort(things)
	differ = len(slices.Compact(things)) > 1
	return differ, differ || unnamed == 0 || len(s.sent) == 1
}

// thing returns what an answer names: the path where it leads, if that has an id, or the id in its JSON.
func (o *sending) thing() string {
	if o.status >= http.StatusBadRequest {
		return "refused"
	}
	if o.target != "" {
		if at, err := url.Parse(o.target); err == nil && named.MatchString(at.Path) {
			return at.Path
		}
		return ""
	}
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(o.body))
	decoder.UseNumber()
	if decoder.Decode(&members) != nil {
		return ""
	}
	for _, name := range []string{"id", "uuid", "number"} {
		for _, member := range slices.Sorted(maps.Keys(members)) {
			if !strings.EqualFold(member, name) {
				continue
			}
			switch value := members[member].(type) {
			case string:
				return value
			case json.Number:
				return value.String()
			}
		}
	}
	return ""
}
