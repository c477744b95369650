package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/gateway/internal/forms"
	"github.com/semel-dev/semel/internal/crossorigin"
	"github.com/semel-dev/semel/internal/formfields"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/jsonsearch"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// Applications differ in which of two parameters, fields or members of one name they read, and in which names are the same to
// them. A condition holds if every reading of the request meets it, and fails if none does. Where a route depends on a condition
// that does neither, the request is refused: neither may a create slip past its route, nor another request get its answer.

// judgement says whether a request meets a condition, or all of a route.
type judgement uint8

const (
	fails   judgement = iota
	unread            // the body decides, and has not been read
	unclear           // some applications read it so, and others do not
	holds
)

// defaultBodyLimit is that of package semelhttp.
const defaultBodyLimit = 64 << 20

// group holds the routes of one pattern, the stricter before the looser. Only the last one can be without conditions.
type group struct {
	routes     []*route
	conditions []rules.MatchCondition // of all routes, each once
	of         [][]int                // the conditions of each route
	query      lookup
	fields     lookup
	alone      []*forms.Route // of the one route of a group without conditions
	paths      [][]string     // of the members
	members    [][]int        // the conditions of each path
	reader     http.Handler   // reads the body, and chooses again; nil where no condition is about it
}

// lookup finds the conditions about a parameter or field.
type lookup struct {
	names      formfields.Names
	conditions [][]int // of each name
}

// newGroup puts the routes of a pattern in order.
func newGroup(routes []*route) *group {
	g := &group{routes: slices.Clone(routes)}
	stricter := func(rt *route) (n int) {
		for _, other := range routes {
			if rt.rule.Match.Implies(&other.rule.Match) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(g.routes, func(a, b *route) int { return cmp.Compare(stricter(b), stricter(a)) })
	names, places := map[string][]string{}, map[string][][]int{}
	for _, rt := range g.routes {
		var own []int
		for _, c := range rt.rule.Match.Conditions {
			i := slices.IndexFunc(g.conditions, func(o rules.MatchCondition) bool {
				return o.In == c.In && o.Name == c.Name && slices.Equal(o.Values, c.Values)
			})
			if i < 0 {
				i = len(g.conditions)
				g.conditions = append(g.conditions, c)
				at := slices.Index(names[c.In], c.Name)
				if at < 0 {
					at = len(names[c.In])
					names[c.In], places[c.In] = append(names[c.In], c.Name), append(places[c.In], nil)
				}
				places[c.In][at] = append(places[c.In][at], i)
			}
			own = append(own, i)
		}
		g.of = append(g.of, own)
	}
	g.query = lookup{formfields.NamesOf(names["query"]...), places["query"]}
	g.fields = lookup{formfields.NamesOf(names["form"]...), places["form"]}
	for _, pointer := range names["json"] {
		g.paths = append(g.paths, jsonsearch.Steps(pointer))
	}
	g.members, g.alone = places["json"], []*forms.Route{&g.routes[0].form}
	return g
}

// open reports whether a request can meet none of the routes.
func (g *group) open() bool { return len(g.of[len(g.of)-1]) > 0 }

// said sums up the readings of a request for one condition.
type said struct {
	sure   bool // all readings have a value
	wanted bool // one has a value that the condition allows
	other  bool // one has another value
}

// facts hold the answer of a request to each condition of a group.
type facts struct {
	group  *group
	said   []said
	bodied [2]bool // forms, members: the body can say something
	read   bool    // the body has been read
	before *facts  // about the group that the request fell through
}

type factsKey struct{}

// factsOf returns what is known of a request about a group.
func (g *group) factsOf(r *http.Request) *facts {
	before, _ := r.Context().Value(factsKey{}).(*facts)
	for known := before; known != nil; known = known.before {
		if known.group == g {
			return known
		}
	}
	f := &facts{group: g, said: make([]said, len(g.conditions)), before: before}
	if len(g.query.conditions) > 0 {
		f.readQuery(r.URL.RawQuery)
	}
	for i := range g.conditions {
		if c := &g.conditions[i]; c.In == "header" {
			f.readHeader(i, r.Header[c.Name])
		}
	}
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
		types := r.Header["Content-Type"]
		f.bodied = [2]bool{len(types) == 0 || slices.ContainsFunc(types, formguard.IsForm), true}
	}
	return f
}

// note takes a value for a condition; sure is false for one that only some applications find.
func (f *facts) note(i int, sure bool, value any) {
	s := &f.said[i]
	s.sure = s.sure || sure
	if allows(&f.group.conditions[i], value) {
		s.wanted = true
	} else {
		s.other = true
	}
}

// allows reports whether a condition allows a value.
func allows(c *rules.MatchCondition, value any) bool {
	return len(c.Values) == 0 || slices.Contains(c.Values, value)
}

// doubt makes all conditions about a place unclear.
func (f *facts) doubt(place string) {
	for i := range f.group.conditions {
		if f.group.conditions[i].In == place {
			f.said[i] = said{wanted: true, other: true}
		}
	}
}

// field takes a parameter or field.
func (f *facts) field(at *lookup, name string, sure bool, value any) {
	place, alike := at.names.Find(name)
	if place >= 0 {
		for _, i := range at.conditions[place] {
			f.note(i, sure, value)
		}
	}
	for _, place := range alike {
		for _, i := range at.conditions[place] {
			f.note(i, false, value)
		}
	}
}

func (f *facts) readQuery(raw string) {
	if strings.Contains(raw, "#") { // some applications end there; no browser sends it
		f.doubt("query")
		return
	}
	for pair := range strings.SplitSeq(raw, "&") {
		parts := f.readParts(&f.group.query, pair) // others leave such a pair out
		f.readPair(&f.group.query, pair, !parts)
	}
}

// readParts takes what applications find in a pair that they cut at semicolons as well. It reports whether there are any.
func (f *facts) readParts(at *lookup, pair string) bool {
	if !strings.Contains(pair, ";") {
		return false
	}
	for part := range strings.SplitSeq(pair, ";") {
		f.readPair(at, part, false)
	}
	return true
}

func (f *facts) readPair(at *lookup, pair string, sure bool) {
	if pair == "" {
		return
	}
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(rawName)
	value, valueErr := url.QueryUnescape(rawValue)
	if err == nil && valueErr == nil {
		f.field(at, name, sure, value)
		return
	}
	// Some applications leave the pair out, others a broken escape as it is; ASP.NET reads "%u0041".
	rawName, rawValue = strings.ReplaceAll(rawName, "+", " "), strings.ReplaceAll(rawValue, "+", " ")
	f.field(at, decoded(rawName), false, decoded(rawValue))
	f.field(at, decoded(wideDecoded(rawName)), false, decoded(wideDecoded(rawValue)))
}

// wideEscape is one of ASP.NET, of a character.
var wideEscape = regexp.MustCompile(`%[uU][0-9a-fA-F]{4}`)

func wideDecoded(text string) string {
	return wideEscape.ReplaceAllStringFunc(text, func(escape string) string {
		code, _ := strconv.ParseUint(escape[2:], 16, 16) // the expression sees to that
		return string(rune(code))
	})
}

// readHeader takes the lines of the header that a condition is about. Some applications read a line with commas as several.
func (f *facts) readHeader(i int, lines []string) {
	for _, line := range lines {
		f.note(i, true, line)
		for part := range strings.SplitSeq(line, ",") {
			f.note(i, true, strings.Trim(part, " \t"))
		}
	}
}

// isCoded reports whether a body has a content coding, in which nothing can be found.
func isCoded(h http.Header) bool {
	return slices.ContainsFunc(h["Content-Encoding"], func(line string) bool {
		coding := strings.TrimSpace(line)
		return coding != "" && !strings.EqualFold(coding, "identity")
	})
}

// readBody takes what the body says. The error is one of reading it.
func (f *facts) readBody(r *http.Request, body *semelhttp.Body) error {
	f.read = true
	length, err := body.Len()
	switch {
	case err != nil:
		return fmt.Errorf("gateway: read the body: %w", err)
	case length == 0:
		return nil
	case isCoded(r.Header):
		f.doubt("form")
		f.doubt("json")
		return nil
	}
	if f.bodied[0] && len(f.group.fields.conditions) > 0 {
		err = f.readForm(r, body)
	}
	if err == nil && f.bodied[1] && len(f.group.paths) > 0 {
		err = f.readJSON(r, body)
	}
	if err != nil {
		return fmt.Errorf("gateway: read the body: %w", err)
	}
	return nil
}

func (f *facts) readForm(r *http.Request, body *semelhttp.Body) error {
	if formguard.CheckType(r.Header) != nil {
		f.doubt("form")
		return nil //nolint:nilerr // the conditions are unclear.
	}
	declared := len(r.Header["Content-Type"]) > 0
	if !declared { // Rack takes it for a form
		r = (&http.Request{Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}).WithContext(r.Context())
	}
	at, hidden := &f.group.fields, false
	err := formfields.Each(r, body, func(field formfields.Field) error {
		parts := f.readParts(at, field.Raw)
		hidden = hidden || parts && field.Digested
		var value any = field.Value
		if field.Digested || field.File {
			value = nil
		}
		f.field(at, field.Name, declared && !parts, value)
		if field.File { // only some applications find a text there
			f.field(at, field.Name, false, field.Value)
		}
		if name := decoded(field.Name); name != field.Name { // browsers escape in multipart, and not all applications decode that
			f.field(at, name, false, value)
		}
		return nil
	})
	_, unreadable := errors.AsType[*formfields.Error](err)
	if hidden || unreadable && declared {
		f.doubt("form")
	}
	if unreadable {
		return nil
	}
	return err
}

// readJSON takes the members of a body. One that declares another type than JSON some applications read as JSON nevertheless.
func (f *facts) readJSON(r *http.Request, body *semelhttp.Body) error {
	declared, wrong := jsonsearch.Is(r.Header)
	types := len(r.Header["Content-Type"])
	if wrong != nil {
		f.doubt("json")
		return nil //nolint:nilerr // as above.
	}
	as := (&http.Request{Header: http.Header{}}).WithContext(r.Context())
	values, err := jsonsearch.InBody(as, body, f.group.paths...)
	if _, unreadable := errors.AsType[*jsonsearch.Error](err); unreadable {
		if declared && types > 0 || begins(body) {
			f.doubt("json")
		}
		return nil
	}
	for place, raw := range values {
		for _, i := range f.group.members[place] {
			if raw != nil && string(raw) != "null" {
				f.note(i, declared && types <= 1, scalarOf(raw))
			}
		}
	}
	return err
}

// begins reports whether a body begins like JSON that has members, in any encoding of Unicode.
func begins(body *semelhttp.Body) bool {
	in, err := body.Open()
	if err != nil {
		return false
	}
	var start [64]byte
	n, _ := io.ReadFull(in, start[:]) // a short one is as good
	for _, c := range start[:n] {
		if strings.IndexByte(" \t\r\n\x00\xef\xbb\xbf\xfe\xff", c) < 0 { // space, or of a byte order mark
			return c == '{' || c == '['
		}
	}
	return n == len(start)
}

// scalarOf returns a JSON value as rules write it: a string, float64 or bool; nil for any other.
func scalarOf(raw json.RawMessage) any {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	switch value.(type) {
	case string, float64, bool:
		return value
	}
	return nil
}

// verdict says whether the request meets a condition of the group.
func (f *facts) verdict(i int) judgement {
	s := f.said[i]
	switch place := f.group.conditions[i].In; {
	case !f.read && (place == "form" && f.bodied[0] || place == "json" && f.bodied[1]):
		return unread
	case !s.wanted:
		return fails
	case s.sure && !s.other:
		return holds
	}
	return unclear
}

// judge says whether the request meets all conditions of a route.
func (f *facts) judge(n int) judgement {
	worst := holds
	for _, i := range f.group.of[n] {
		v := f.verdict(i)
		if v == fails {
			return fails
		}
		worst = min(worst, v)
	}
	return worst
}

// first returns the first route that the request may meet, and whether it does; nil where it meets none.
func (f *facts) first() (*route, judgement) {
	for n, rt := range f.group.routes {
		if v := f.judge(n); v != fails {
			return rt, v
		}
	}
	return nil, fails
}

// choose gives a request to its route in a group, or under a less specific pattern.
func (g *Gateway) choose(w http.ResponseWriter, r *http.Request, at *group) {
	for at != nil {
		if len(at.conditions) == 0 {
			g.route(w, r, at.routes[0])
			return
		}
		f := at.factsOf(r)
		switch found, v := f.first(); v {
		case holds:
			g.route(w, r, found)
			return
		case unread:
			at.reader.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), factsKey{}, f)))
			return
		case unclear:
			g.refuseUnclear(w, r, found, f)
			return
		case fails:
		}
		at = g.router.below(r, at)
	}
	g.route(w, r, g.router.fallback)
}

// refuseUnclear refuses a request that can be read so that it meets a route, and so that it does not.
func (g *Gateway) refuseUnclear(w http.ResponseWriter, r *http.Request, found *route, f *facts) {
	what := ""
	for _, i := range f.group.of[slices.Index(f.group.routes, found)] {
		if f.verdict(i) == unclear {
			what = f.group.conditions[i].In + " " + strconv.Quote(f.group.conditions[i].Name)
			break
		}
	}
	crossorigin.From(r.Context()).Allow(w.Header())
	g.refuseAmbiguous(w, r, found, "Nothing was done. Applications can read "+what+" in two ways that are treated differently here. Say it once, under exactly this name, "+
		"in a body that is well formed, not compressed, and of the type that its Content-Type names.", fmt.Errorf("%s can be read in two ways", what))
}

// bodyReader is a semelhttp.KeySource that finds no key: it reads the body for the conditions of a group.
type bodyReader struct{}

// String implements semelhttp.KeySource.
func (bodyReader) String() string { return "nothing" }

// Key implements semelhttp.KeySource.
func (bodyReader) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	f, _ := r.Context().Value(factsKey{}).(*facts)
	return "", false, f.readBody(r, body)
}

// reads makes the reader of a group's bodies: up to the largest limit of its routes.
func (g *Gateway) reads(at *group) error {
	limit, needed := int64(0), len(at.fields.conditions)+len(at.paths) > 0
	if !needed {
		return nil
	}
	for _, rt := range at.routes {
		limit = max(limit, cmp.Or(rt.rule.BodyLimit, defaultBodyLimit))
	}
	loosest := &at.routes[len(at.routes)-1].rule // which counts what cannot be read
	m, err := semelhttp.New(g.guard, semelhttp.ScopeBy(func(*http.Request) string { return "" }), &semelhttp.Options{
		Key: bodyReader{}, Methods: at.routes[0].rule.Match.Methods, MaxBodyBytes: limit, SpoolDir: g.config.SpoolDir,
		OnDecision: g.decided(loosest),
	})
	if err != nil {
		return fmt.Errorf("gateway: route %q: %w", at.routes[0].rule.Name, err)
	}
	at.reader = m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.choose(w, r, at) }))
	return nil
}
