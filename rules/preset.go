package rules

import (
	"cmp"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// preset fills what a route with preset: payments leaves open, and reports what
// takes the preset's promise back: that an effect is never repeated on a guess.
func (r *reader) preset(route *Route, found yamlfile.Present) {
	if !route.Payments {
		return
	}
	if !found.Has("on_5xx") {
		route.On5xx = Unknown5xx
	}
	if !found.Has("problem_format") {
		route.StripeErrors = true
	}
	if !found.Has("retention") && (route.Key.Derive == nil || route.Form != nil || route.Page != nil) {
		route.Policy.Retention = 72 * time.Hour
	}
	for name, wrong := range map[string]bool{
		"on_5xx":    route.On5xx == Release5xx,
		"unknown":   route.Policy.OnUnknown == semel.Rerun,
		"fail_open": route.FailOpen,
	} {
		if wrong {
			r.Report(found[name], "remove it, or remove preset", "%s lets a request run again, or unprotected, on a guess, which contradicts preset: payments", name)
		}
	}
}

// Warning is a setting that works, and is probably not what was meant.
type Warning struct {
	At   Position
	Text string
}

// Warnings lists what is worth a second look in a file that can be used, in the
// order of the file.
func (f *File) Warnings() []Warning {
	var all []Warning
	for i := range f.Routes {
		route := &f.Routes[i]
		if route.Payments && route.Reconcile == nil {
			all = append(all, Warning{route.At, fmt.Sprintf("route %q has preset: payments without unknown.reconcile: "+
				"each payment whose answer is lost has to be settled by an operator (semel records resolve)", route.Name)})
		}
		if w := route.Key.Webhook; w != nil && route.Policy.Retention < w.Redelivery {
			all = append(all, Warning{route.At, fmt.Sprintf("route %q remembers webhooks for %v, and their sender may deliver one again %v later "+
				"(key.webhook.redelivery): it then runs again", route.Name, route.Policy.Retention, w.Redelivery)})
		}
		all = append(all, route.forgetful()...)
		if route.Reconcile != nil && len(route.Scope) == 1 && route.Scope[0].Constant != "" {
			all = append(all, Warning{route.At, fmt.Sprintf("route %q reconciles, and all callers share one scope (constant): "+
				"the upstream is asked with the credentials of the caller that repeats, and must not answer \"not happened\" to one that may not see it", route.Name)})
		}
	}
	return all
}

// retries bounds by default how long Semel's clients retry under one key.
const retries = time.Minute

// forgetful warns about a route that forgets an intent while a caller may still repeat it.
func (route *Route) forgetful() (all []Warning) {
	p := &route.Policy
	span, whose := retries, "clients retry for"
	if wait := cmp.Or(p.Wait, semel.DefaultWait); wait > span {
		span, whose = wait, "a duplicate waits for"
	}
	if lease := cmp.Or(p.Lease, semel.DefaultLease); lease > span {
		span, whose = lease, "a lease lasts for"
	}
	for _, kept := range []struct {
		setting, what string
		is            time.Duration
	}{{"retention", "an answer", p.Retention}, {"unknown_retention", "an unknown outcome", p.UnknownRetention}} {
		if kept.is > 0 && kept.is < span {
			all = append(all, Warning{route.At, fmt.Sprintf("route %q remembers %s for %v, and %s %v: a request whose answer is forgotten runs again (write a longer %s)",
				route.Name, kept.what, kept.is, whose, span, kept.setting)})
		}
	}
	return all
}

// String writes the warning as problems of a file are written.
func (w Warning) String() string { return fmt.Sprintf("%d:%d: %s", w.At.Line, w.At.Column, w.Text) }
