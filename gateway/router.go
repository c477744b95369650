package gateway

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// router finds the route of a request.
type router struct {
	mux    *http.ServeMux    // nil without rules
	groups map[string]*group // by pattern
	// under has the less specific patterns for each group without a route for everything.
	under    map[*group]func() *http.ServeMux
	all      []*route
	fallback *route
	lenient  *lenient // how applications may read what mux does not
}

// patterns collects the routes of each pattern.
type patterns struct {
	names  []string
	routes map[string][]*route
}

func (p *patterns) add(pattern string, rt *route) {
	if p.routes == nil {
		p.routes = map[string][]*route{}
	}
	if p.routes[pattern] == nil {
		p.names = append(p.names, pattern)
	}
	p.routes[pattern] = append(p.routes[pattern], rt)
}

// add registers a pattern; a file that was parsed has no impossible ones.
func (rt *router) add(pattern string, at *group) error {
	if rt.mux == nil {
		rt.mux, rt.groups, rt.under = http.NewServeMux(), map[string]*group{}, map[*group]func() *http.ServeMux{}
	}
	if err := add(rt.mux, pattern); err != nil {
		return err
	}
	rt.groups[pattern] = at
	return nil
}

// add registers a pattern, of which only the name is of interest.
func add(mux *http.ServeMux, pattern string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v (parse the rules with rules.Parse, which says where)", p)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return nil
}

// layer prepares the way from a group to less specific patterns. The patterns that match one request have an order: with a host
// before without, and a smaller set of paths before a larger one. Under an open group are all patterns but it and the open ones
// before it.
func (rt *router) layer() {
	var open []string
	for pattern, at := range rt.groups {
		if at.open() {
			open = append(open, pattern)
		}
	}
	slices.Sort(open)
	rank := map[string]int{}
	for _, pattern := range open {
		mux := http.NewServeMux()
		_ = add(mux, pattern) // it is in another one already
		for _, other := range open {
			if _, found := mux.Handler(sampleOf(other)); found != "" {
				rank[other]++
			}
		}
		if _, path, _ := strings.Cut(pattern, " "); !strings.HasPrefix(path, "/") {
			rank[pattern] += len(open)
		}
	}
	slices.SortStableFunc(open, func(a, b string) int { return cmp.Compare(rank[b], rank[a]) })
	for i, pattern := range open {
		rt.under[rt.groups[pattern]] = sync.OnceValue(func() *http.ServeMux {
			mux := http.NewServeMux()
			for _, other := range slices.Sorted(maps.Keys(rt.groups)) {
				if !slices.Contains(open[:i+1], other) {
					_ = add(mux, other) // as above
				}
			}
			return mux
		})
	}
}

// sampleOf returns a request that matches a pattern, and no pattern that does not match all such requests.
func sampleOf(pattern string) *http.Request {
	method, rest, _ := strings.Cut(pattern, " ")
	host, path, _ := strings.Cut(rest, "/")
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		switch {
		case segment == "{$}":
			segments[i] = ""
		case strings.HasSuffix(segment, "...}"), segment == "" && i == len(segments)-1:
			segments[i] = "\x00/\x00"
		case strings.HasPrefix(segment, "{"):
			segments[i] = "\x00"
		}
	}
	return &http.Request{Method: method, Host: host, URL: &url.URL{Path: "/" + strings.Join(segments, "/")}}
}

// group returns the routes of the most specific pattern, nil for none. It looks at the path as ServeMux cleans it, so that "//orders",
// "/x/../orders" and "/x/%2e%2e/orders" do not slip past a rule; the request itself is passed on as it came.
func (rt *router) group(r *http.Request) *group {
	if rt.mux == nil {
		return nil
	}
	return rt.in(rt.mux, r)
}

// below returns the routes of the next pattern, for a request that has met none of a group.
func (rt *router) below(r *http.Request, at *group) *group {
	under, found := rt.under[at]
	if !found {
		return nil
	}
	return rt.in(under(), r)
}

func (rt *router) in(mux *http.ServeMux, r *http.Request) *group {
	host, raw := plainHost(r.Host), plainPath(r.URL.RawPath)
	if host != r.Host || raw != r.URL.RawPath {
		plain, target := *r, *r.URL
		target.RawPath = raw
		plain.Host, plain.URL, r = host, &target, &plain
	}
	_, pattern := mux.Handler(r)
	return rt.groups[pattern]
}

// ofForm marks as unknown the fields of a form that was not sent yet, and the headers of a script that sends it.
func ofForm(f *facts) {
	f.doubt("form")
	f.doubt("header")
}

// possible returns the routes that the request may meet, the stricter before the looser: one if its conditions tell. unknown adds
// what is not known of the request; nil for nothing.
func (rt *router) possible(r *http.Request, unknown func(*facts)) (found []*route) {
	for at := rt.group(r); at != nil; at = rt.below(r, at) {
		if len(at.conditions) == 0 {
			return append(found, at.routes[0])
		}
		f := at.factsOf(r)
		if unknown != nil {
			doubtful := *f
			doubtful.said = slices.Clone(f.said)
			f = &doubtful
			unknown(f)
		}
		for n, candidate := range at.routes {
			v := f.judge(n)
			if v != fails {
				found = append(found, candidate)
			}
			if v == holds {
				return found
			}
		}
	}
	return append(found, rt.fallback)
}

// asked returns the route of a request that a question is about, whose body is not known: the first protected one that it may have
// met.
func (rt *router) asked(r *http.Request) *route {
	all := rt.possible(r, func(f *facts) {
		f.doubt("form")
		f.doubt("json")
	})
	if i := slices.IndexFunc(all, func(rt *route) bool { return rt.rule.Protect }); i >= 0 {
		return all[i]
	}
	return all[0]
}
