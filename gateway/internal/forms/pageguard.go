package forms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	// reportPath takes reports of the page script about requests that it left alone.
	reportPath = Path + "page"
	// maxReportBytes is the length of the longest report, and maxReported the highest count in one.
	maxReportBytes = 4 << 10
	maxReported    = 1000
)

// IsPageKey reports whether the lines of a header are a key of the page script.
func IsPageKey(lines []string) bool {
	return len(lines) == 1 && strings.HasPrefix(lines[0], `"semel-page-`)
}

// pageGuard is the script that gives keys to requests that scripts of a page send. It learns from its element which requests to look at.
type pageGuard struct {
	script

	// routes are the rules with page as an attribute of the element, by the host of the page; those of "" are for hosts
	// that no rule names.
	routes  map[string]string
	marks   map[string]string // of pages with the element, by that attribute
	names   []string          // of these rules
	headers []string          // by which rules tell requests to one path apart
	told    seenOnce          // by route and kind
}

// pageRoute is a rule as the script reads it.
type pageRoute struct {
	Name    string   `json:"name"`
	Methods []string `json:"methods"`
	Path    string   `json:"path"`
	Header  string   `json:"header"`
	Ignore  []string `json:"ignore,omitzero"`
	GraphQL *bool    `json:"graphql,omitempty"`
	Headers []string `json:"headers,omitzero"` // that are content
}

func (g *pageGuard) configure(c *Config) error {
	g.routes, g.marks = map[string]string{}, map[string]string{}
	var all []*rules.Route
	for i := range c.Rules {
		rule := &c.Rules[i]
		for _, condition := range rule.Match.Conditions {
			if condition.In == "header" && !slices.Contains(g.headers, condition.Name) {
				g.headers = append(g.headers, condition.Name)
			}
		}
		if rule.Page != nil {
			all, g.names = append(all, rule), append(g.names, rule.Name)
			for kind := range unprotectedKinds() {
				c.Unprotected.WithLabelValues(rule.Name, kind)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	// The script takes the first route that matches. A host counts before a path.
	slices.SortStableFunc(all, func(a, b *rules.Route) int {
		return cmp.Or(cmp.Compare(b.Match.Host, a.Match.Host), cmp.Compare(weight(b.Match.Path), weight(a.Match.Path)))
	})
	if err := g.load("page.js"); err != nil {
		return err
	}
	for _, host := range append([]string{""}, hostsOf(all)...) {
		attribute, err := g.attributeOf(all, host)
		if err != nil {
			return err
		}
		g.routes[host], g.marks[attribute] = attribute, markOf(g.url+attribute)
	}
	return nil
}

var wildcard = regexp.MustCompile(`\{[^$}]*\}`)

// weight returns how much a path says.
func weight(path string) int { return len(wildcard.ReplaceAllString(path, "")) }

func hostsOf(all []*rules.Route) (hosts []string) {
	for _, rule := range all {
		hosts = append(hosts, rule.Match.Host)
	}
	return hosts
}

// attributeOf returns the attribute for pages of a host, "" where no rule is about it.
func (g *pageGuard) attributeOf(all []*rules.Route, host string) (string, error) {
	var routes []pageRoute
	for _, rule := range all {
		if rule.Match.Host == "" || rule.Match.Host == host {
			routes = append(routes, pageRoute{
				Name: rule.Name, Methods: rule.Match.Methods, Path: rule.Match.Path,
				Header: cmp.Or(rule.Key.Header, semelhttp.DefaultHeader), Ignore: rule.Page.Ignore, GraphQL: rule.Page.GraphQL,
				Headers: slices.Concat(g.headers, rule.FingerprintHeaders),
			})
		}
	}
	if len(routes) == 0 {
		return "", nil
	}
	text, err := json.Marshal(routes)
	if err != nil {
		return "", fmt.Errorf("gateway: routes of pages: %w", err)
	}
	return " data-semel-routes='" + plainJSON(text) + "'", nil
}

// plainJSON writes JSON so that it reads the same in every charset, and as an attribute in single quotes of HTML and XML:
// json.Marshal has escaped the other characters of markup.
func plainJSON(text []byte) string {
	var out strings.Builder
	for _, r := range string(text) {
		if r < 0x7F && r != '\'' {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// on returns the attribute for a page of a host, "" for a page that needs no script.
func (g *pageGuard) on(host string) string {
	name, _, _ := strings.Cut(host, ":") // rules name no IPv6 address
	if routes, named := g.routes[strings.ToLower(strings.TrimSuffix(name, "."))]; named {
		return routes
	}
	return g.routes[""]
}

// unprotectedKinds say why the script leaves a request alone.
func unprotectedKinds() map[string]string {
	return map[string]string{
		"stream": "its body is a stream, which can be read only once",
		"beacon": "navigator.sendBeacon cannot set a header (use fetch with keepalive)",
		"sync":   "a synchronous XMLHttpRequest cannot wait for the digest of its content",
		"large":  "its body is larger than the page script reads",
	}
}

// serveReport counts requests that, as the script of a page says, went out without a key. Any caller can write
// such a report, so it is only counted.
func (f *Forms) serveReport(w http.ResponseWriter, r *http.Request) {
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	case site != "same-origin" && (site != "" || r.Header.Get("Origin") == "" || !fromThisSite(r)):
		http.Error(w, "only pages of this site report", http.StatusForbidden)
		return
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxReportBytes+1))
	if len(text) > maxReportBytes {
		http.Error(w, "the report is too long", http.StatusRequestEntityTooLarge)
		return
	}
	var report map[string]map[string]uint64
	if err != nil || json.Unmarshal(text, &report) != nil {
		http.Error(w, "a report is JSON such as {\"orders\":{\"stream\":1}}", http.StatusBadRequest)
		return
	}
	for route, counts := range report {
		if slices.Contains(f.page.names, route) {
			f.countUnprotected(r, route, counts)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// countUnprotected counts what was sent to a route, and warns once for each kind.
func (f *Forms) countUnprotected(r *http.Request, route string, counts map[string]uint64) {
	for kind, why := range unprotectedKinds() {
		n := min(counts[kind], maxReported)
		if n == 0 {
			continue
		}
		f.config.Unprotected.WithLabelValues(route, kind).Add(float64(n))
		if first, _ := f.page.told.first(route + "\n" + kind); first {
			f.config.Log.LogAttrs(r.Context(), slog.LevelWarn, "a script of a page sent a request without a key, so sending it twice is not safe (said once for each route and kind)",
				slog.String("route", route), slog.String("kind", kind), slog.String("reason", why))
		}
	}
}
