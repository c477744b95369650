package rules

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// defaultAbsentAfter is the default of [Reconcile.AbsentAfter].
const defaultAbsentAfter = time.Minute

// Reconcile finds out, by a GET that the gateway sends to the upstream with the
// credentials of the retrying request, whether an intent with an unknown
// outcome happened.
type Reconcile struct {
	// Get is the path and query to ask.
	Get Template
	// Happened tells an answer that shows that it happened.
	Happened Condition
	// NotHappened tells an answer that shows that it did not. Default: 404.
	NotHappened Condition
	// AbsentAfter is the time in which an attempt can still take effect after the
	// gateway has given it up, or its lease has ended: only after it NotHappened is
	// believed. Default: one minute.
	AbsentAfter time.Duration
	// Replay says what a caller gets for an intent that happened.
	Replay Replay
	// Background, when set, asks without waiting for a retry.
	Background *Background
}

// Background reconciles records for which no retry arrives. Only the key and the
// path of the request are known then.
type Background struct {
	// AuthorizationEnv names the environment variable whose value is sent as the
	// Authorization header; empty for no credentials.
	AuthorizationEnv string
}

// Condition is about the answer of a GET. The zero Condition holds never.
type Condition struct {
	// Status lists the statuses; empty for any.
	Status []int
	// Pointer is a place in the JSON answer; empty for no condition on it.
	Pointer string
	// Equals is the value at that place: a string, float64 or bool. nil for any
	// value but null.
	Equals any
}

// IsZero reports whether the condition is empty.
func (c Condition) IsZero() bool { return len(c.Status) == 0 && c.Pointer == "" }

// Replay is the answer that is built for an intent that happened.
type Replay struct {
	Status   int      // default: the status of the GET's answer
	Location Template // the Location header, if any
	Body     bool     // the body is that of the GET's answer
}

// unknown reads what is done about an unknown outcome.
func (r *reader) unknown(n ast.Node, route *Route) {
	if _, ok := yamlfile.Literal(n); ok {
		if r.Choice(n, "unknown", "refuse", "rerun", "reconcile") == 2 {
			r.Report(yamlfile.At(n), "write reconcile as a mapping below unknown, with get and happened_when", "reconcile does not say how")
		}
		if word, _ := yamlfile.Literal(n); word == "rerun" {
			route.Policy.OnUnknown = semel.Rerun
		}
		return
	}
	found := r.Mapping(n, "unknown", []yamlfile.Field{
		{"reconcile", func(n ast.Node) { route.Reconcile = r.reconcile(n) }},
	})
	if found.Has("reconcile") {
		route.Policy.OnUnknown = semel.Reconcile
	}
}

func (r *reader) reconcile(n ast.Node) *Reconcile {
	rec := &Reconcile{AbsentAfter: defaultAbsentAfter, Replay: Replay{Body: true}}
	found := r.Mapping(n, "reconcile", []yamlfile.Field{
		{"get", func(n ast.Node) { rec.Get = r.template(n, "get") }},
		{"happened_when", func(n ast.Node) { rec.Happened = r.condition(n, "happened_when") }},
		{"not_happened_when", func(n ast.Node) { rec.NotHappened = r.condition(n, "not_happened_when") }},
		{"absent_after", func(n ast.Node) { rec.AbsentAfter = r.duration(n, "absent_after", 0, maxRetention) }},
		{"replay", func(n ast.Node) { rec.Replay = r.replay(n) }},
		{"background", func(n ast.Node) { rec.Background = r.background(n) }},
	})
	if found == nil {
		return rec
	}
	if !found.Has("get") {
		r.Report(yamlfile.At(n), `add the path that shows whether it happened, such as get: "/payments/by-key/{key}"`, "reconcile has no get")
	}
	if !found.Has("happened_when") {
		r.Report(yamlfile.At(n), "add the answer that proves it, such as happened_when: {status: 200}", "reconcile has no happened_when")
	}
	if rec.Get.Uses(template.Answer) {
		r.Report(found["get"], "use {answer:…} in replay.location only", "get cannot use its own answer")
	}
	if rec.NotHappened.IsZero() {
		rec.NotHappened = Condition{Status: []int{404}}
	}
	r.distinct(rec, found["happened_when"])
	for _, t := range []Template{rec.Get, rec.Replay.Location} {
		if rec.Background != nil && (t.Uses(template.JSON) || t.Uses(template.Form)) {
			r.Report(found["background"], "use {key} and the wildcards of the path, or leave background out",
				"in the background the request's body is not known any more")
			break
		}
	}
	return rec
}

// variableName matches the name of an environment variable.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *reader) background(n ast.Node) *Background {
	b := &Background{}
	r.Mapping(n, "background", []yamlfile.Field{
		{"authorization_env", func(n ast.Node) {
			name, ok := r.Text(n, "authorization_env")
			if ok && !variableName.MatchString(name) {
				r.Report(yamlfile.At(n), "write the name of the variable that holds the credentials, such as SHOP_AUTHORIZATION, not the credentials",
					"authorization_env is not a name of an environment variable")
			}
			b.AuthorizationEnv = name
		}},
	})
	return b
}

// distinct reports conditions that both hold for one answer.
func (r *reader) distinct(rec *Reconcile, at Position) {
	yes, no := rec.Happened, rec.NotHappened
	if yes.IsZero() || no.IsZero() {
		return
	}
	shared := len(yes.Status) == 0 || len(no.Status) == 0 ||
		slices.ContainsFunc(yes.Status, func(s int) bool { return slices.Contains(no.Status, s) })
	apart := yes.Pointer != "" && yes.Pointer == no.Pointer && yes.Equals != nil && no.Equals != nil && yes.Equals != no.Equals
	if shared && !apart {
		r.Report(at, "name other statuses, or another value at the same JSON pointer", "happened_when and not_happened_when (404 unless written) can hold for the same answer")
	}
}

func (r *reader) condition(n ast.Node, what string) Condition {
	var c Condition
	found := r.Mapping(n, what, []yamlfile.Field{
		{"status", func(n ast.Node) { c.Status = r.statuses(n, 200) }},
		{"json_pointer", func(n ast.Node) { c.Pointer = r.pointer(n, "json_pointer") }},
		{"equals", func(n ast.Node) { c.Equals = r.scalar(n, "equals") }},
	})
	if found.Has("equals") && !found.Has("json_pointer") {
		r.Report(found["equals"], "add json_pointer: the place in the answer to compare", "equals says nothing without json_pointer")
	}
	if found != nil && len(found) == 0 {
		r.Report(yamlfile.At(n), "add status, json_pointer or both", "%s holds for every answer", what)
	}
	return c
}

// statuses reads one status or a list of them, from least to 599.
func (r *reader) statuses(n ast.Node, least int) []int {
	nodes := []ast.Node{n}
	if _, ok := n.(*ast.IntegerNode); !ok {
		nodes = r.Sequence(n, "status")
	}
	var out []int
	for _, node := range nodes {
		if s := r.Integer(node, "status", least, 599); s > 0 {
			out = append(out, s)
		}
	}
	return out
}

// scalars reads one scalar or a list of them.
func (r *reader) scalars(n ast.Node) (out []any) {
	for _, node := range r.oneOrMore(n, "equals") {
		if value := r.scalar(node, "equals"); value != nil {
			out = append(out, value)
		}
	}
	return out
}

// mostExact is the largest whole number up to which float64 has every one.
const mostExact = 1<<53 - 1

// scalar reads text, a number, true or false.
func (r *reader) scalar(n ast.Node, what string) any {
	switch n := n.(type) {
	case *ast.BoolNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.IntegerNode:
		f, err := strconv.ParseFloat(n.Token.Value, 64)
		switch {
		case err != nil:
		case math.Abs(f) > mostExact:
			r.Report(yamlfile.At(n), "look at another member", "%s is %s, and numbers beyond 9007199254740991 are not compared exactly", what, n.Token.Value)
			return nil
		default:
			return f
		}
	}
	if value, ok := yamlfile.Literal(n); ok {
		return value
	}
	r.Report(yamlfile.At(n), "write text, a number, true or false", "%s is %s", what, yamlfile.Describe(n))
	return nil
}

func (r *reader) replay(n ast.Node) Replay {
	out := Replay{Body: true}
	r.Mapping(n, "replay", []yamlfile.Field{
		{"status", func(n ast.Node) { out.Status = max(0, r.Integer(n, "status", 200, 499)) }},
		{"location", func(n ast.Node) { out.Location = r.template(n, "location") }},
		{"body", func(n ast.Node) { out.Body = r.Boolean(n, "body") }},
	})
	return out
}

func (r *reader) template(n ast.Node, what string) Template {
	s, ok := r.Text(n, what)
	if !ok {
		return Template{}
	}
	t, err := template.Parse(s)
	if err != nil {
		r.Report(yamlfile.At(n), `write a path with placeholders, such as "/payments/by-key/{key}"`, "%s %q cannot be used: %v", what, yamlfile.Cut(s), err)
		return Template{}
	}
	return t
}
