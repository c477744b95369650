package rules_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/rules"
)

var update = flag.Bool("update", false, "rewrite the golden error texts")

// TestDocumentedRules: the package reads what the documentation shows.
func TestDocumentedRules(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"forms.md": 1, "http.md": 7, "rules.md": 5} {
		page, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(page), "```yaml\n")[1:]
		if len(blocks) != want {
			t.Fatalf("docs/%s shows %d pieces of YAML, want %d", name, len(blocks), want)
		}
		for _, block := range blocks {
			text, _, _ := strings.Cut(block, "```")
			if name == "http.md" && !strings.HasPrefix(text, "version:") { // a piece of a route
				text = "version: 1\nroutes:\n  - name: a\n    match: {path: /payments}\n" + text
			}
			if _, err := rules.Parse("docs/"+name, []byte(text)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestProblems compares the error text of every bad file with its golden text.
func TestProblems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad files: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = rules.Parse(filepath.Base(name), data)
			if err == nil {
				t.Fatal("no error")
			}
			golden := strings.TrimSuffix(name, ".yaml") + ".txt"
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("error text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExample(t *testing.T) {
	t.Parallel()
	file, err := rules.Load("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	literal := func(s string) template.Part { return template.Part{Value: s} }
	want := []rules.Route{
		{
			Name: "payments", At: rules.Position{Line: 5, Column: 5}, Protect: true, Required: true,
			Match: rules.Match{Methods: []string{"POST"}, Host: "api.shop.test", Path: "/orders/{order}/payments"},
			Key:   rules.Key{Header: "Idempotency-Key"},
			Scope: []rules.ScopeSource{{Header: "Authorization"}, {ClientCertificate: true}},
			Policy: semel.Policy{
				Retention: 72 * time.Hour, Wait: 10 * time.Second, Lease: 20 * time.Second, MaxRun: 2 * time.Minute,
				OnUnknown: semel.Reconcile,
			},
			BodyLimit: 256 << 10, ResponseLimit: 64 << 10, CanonicalJSON: true, On5xx: rules.Unknown5xx,
			Reconcile: &rules.Reconcile{
				Get: rules.Template{Parts: []template.Part{
					literal("/orders/"),
					{Source: template.Wildcard, Value: "order"},
					literal("/payments?reference="),
					{Source: template.Key},
					literal("&amount="),
					{Source: template.JSON, Value: "/amount"},
				}},
				Happened:    rules.Condition{Status: []int{200}, Pointer: "/0/state", Equals: "paid"},
				NotHappened: rules.Condition{Status: []int{404, 410}},
				AbsentAfter: 90 * time.Second,
				Replay: rules.Replay{
					Status: 201, Body: true,
					Location: rules.Template{Parts: []template.Part{literal("/payments/"), {Source: template.Answer, Value: "/0/id"}}},
				},
			},
		},
		{
			Name: "order-form", At: rules.Position{Line: 32, Column: 5}, Protect: true,
			Match: rules.Match{Methods: []string{"POST", "PATCH"}, Path: "/orders"},
			Key: rules.Key{Derive: &rules.Derive{
				Fields: []string{"customer", "items", "note"}, Cookies: []string{"sessionid"}, Window: 10 * time.Second,
			}},
			Scope: []rules.ScopeSource{{Cookie: "sessionid"}},
		},
		{
			Name: "webhooks", At: rules.Position{Line: 42, Column: 5}, Protect: true,
			Match:  rules.Match{Methods: []string{"POST"}, Path: "/hooks/{provider}"},
			Key:    rules.Key{WebhookID: true},
			Scope:  []rules.ScopeSource{{Constant: "webhooks"}},
			Policy: semel.Policy{Dedup: true, Wait: semel.NoWait},
		},
		{
			Name: "import", At: rules.Position{Line: 49, Column: 5}, Protect: true, FailOpen: true,
			Match:  rules.Match{Methods: []string{"PUT"}, Path: "/imports/{rest...}"},
			Key:    rules.Key{JSONPointer: "/import/id"},
			Policy: semel.Policy{OnUnknown: semel.Rerun},
		},
		{
			Name: "search", At: rules.Position{Line: 56, Column: 5},
			Match: rules.Match{Methods: []string{"POST", "PATCH"}, Path: "/search"},
			Key:   rules.Key{Header: "Idempotency-Key"},
		},
	}
	if diff := cmp.Diff(want, file.Routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

func TestTemplateExpand(t *testing.T) {
	t.Parallel()
	file, err := rules.Load("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	get := file.Routes[0].Reconcile.Get
	tests := []struct{ value, want, err string }{
		{value: "7", want: "/orders/7/payments?reference=7&amount=7"},
		{value: "a/b c&d?", want: "/orders/a%2Fb%20c&d%3F/payments?reference=a%2Fb+c%26d%3F&amount=a%2Fb+c%26d%3F"},
		{value: "..", err: `rules: fill in /orders/{order}/payments?reference={key}&amount={json:/amount}: a segment ".." would leave the path`},
		{value: "", err: "rules: fill in {order}: it is empty"},
	}
	for _, tt := range tests {
		got, err := get.Expand(func(template.Part) (string, error) { return tt.value, nil })
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.err {
			t.Errorf("Expand(%q) = %q, %q; want %q, %q", tt.value, got, text, tt.want, tt.err)
		}
	}
}

func TestLoadNoFile(t *testing.T) {
	t.Parallel()
	if _, err := rules.Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of no file: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	_, err := rules.Parse("big.yaml", make([]byte, (512<<10)+1))
	if err == nil || !strings.Contains(err.Error(), "larger than 512KiB") {
		t.Errorf("Parse of a huge file: %v", err)
	}
}

// FuzzRules feeds arbitrary text: it must end in routes that do not conflict,
// or in problems that lie within the file.
func FuzzRules(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/bad/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := rules.Parse("fuzz.yaml", data)
		if err != nil {
			checkProblems(t, data, err)
			return
		}
		names := map[string]bool{}
		for _, route := range file.Routes {
			if route.Name == "" || names[route.Name] || route.Match.Path == "" || len(route.Match.Methods) == 0 {
				t.Errorf("unsound route %+v", route)
			}
			names[route.Name] = true
		}
		for i := range file.Unique {
			checkUnique(t, &file.Unique[i])
		}
	})
}

// checkUnique: a rule that was read can be used, and its messages tell nothing
// that the caller did not send.
func checkUnique(t *testing.T, u *rules.Unique) {
	t.Helper()
	if u.Name == "" || u.Says == "" || u.Table == "" || u.Index == "" || len(u.Fields) == 0 {
		t.Errorf("unsound rule %+v", u)
	}
	for _, term := range u.Terms() {
		if len(term.Columns) == 0 || term.Raw == nil && term.Expr.IsZero() {
			t.Errorf("unsound term %+v", term)
		}
	}
	sent := map[string]string{}
	for _, name := range u.Columns() {
		if !slices.Contains(u.Show, name) {
			sent[name] = "s3cr3t-0f-s0meb0dy"
		}
	}
	for _, lang := range rules.Languages() {
		text := u.Message(lang, sent)
		if text == "" || strings.Contains(text, "s3cr3t-0f-s0meb0dy") || strings.ContainsAny(text, "{}\n") {
			t.Errorf("rule %q says %q", u.Name, text)
		}
	}
}

func checkProblems(t *testing.T, data []byte, err error) {
	t.Helper()
	problems, ok := errors.AsType[*rules.Error](err)
	if !ok || len(problems.Problems) == 0 {
		t.Fatalf("error without problems: %v", err)
	}
	lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
	for _, p := range problems.Problems {
		if p.Position.Line < 1 || p.Position.Line > lines || p.Position.Column < 1 || p.Fix == "" || p.Message == "" {
			t.Errorf("problem outside the file of %d lines or without a fix: %v", lines, p)
		}
		if strings.Contains(p.String(), "\n") {
			t.Errorf("problem of more than one line: %q", p.String())
		}
	}
}

// TestForm: form in its short and in its long spelling.
func TestForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*rules.Form{
		"form: false": nil,
		"form: true":  {Field: "_semel", Script: true},
		"form: {field: wish, lifetime: 1h, script: false, ignore: [a, b], restore_redirect: true}": {
			Field: "wish", Lifetime: time.Hour, Ignore: []string{"a", "b"}, RestoreRedirect: true,
		},
		`form: {texts: {saving: "Sparar <fakturan>", duplicate: {en: It was saved., zh: 已保存。}}}`: {Field: "_semel", Script: true, Texts: rules.FormTexts{
			Saving: map[string]string{"": "Sparar <fakturan>"}, Duplicate: map[string]string{"en": "It was saved.", "zh": "已保存。"},
		}},
		"form: {ignore: nonce}": {Field: "_semel", Script: true, Ignore: []string{"nonce"}},
		"form: {ignore: []}":    {Field: "_semel", Script: true, Ignore: []string{}},
	} {
		file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: a\n    match: {path: /a}\n    key: {derive: {window: 10s}}\n    retention: 2h\n    "+text+"\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, file.Routes[0].Form); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if got := file.Routes[0].Policy.Retention; got != 2*time.Hour {
			t.Errorf("%s: the retention is %v", text, got)
		}
	}
}

// TestPage: page in its short and in its long spelling, next to every source of keys that it goes with.
func TestPage(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for text, want := range map[string]*rules.Page{
		"page: false":                          nil,
		"page: true":                           {},
		"page: {ignore: [a, b]}":               {Ignore: []string{"a", "b"}},
		"page: {ignore: []}":                   {Ignore: []string{}},
		"page: {ignore: nonce, graphql: true}": {Ignore: []string{"nonce"}, GraphQL: &yes},
		"page: {graphql: false}":               {GraphQL: &no},
		"page: true\n    form: true":           {},
	} {
		for _, key := range []string{"{header: X-Key}", "{derive: {window: 10s}}"} {
			file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: a\n    match: {path: /a}\n    preset: payments\n    key: "+key+"\n    "+text+"\n"))
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			route := &file.Routes[0]
			if diff := cmp.Diff(want, route.Page); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
			if kept := route.Policy.Retention == 72*time.Hour; kept != (want != nil || route.Key.Derive == nil) {
				t.Errorf("%s with %s: the retention of keys in a header is %v", text, key, route.Policy.Retention)
			}
		}
	}
}

// A byte order mark before the text is skipped.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rules.Parse("semel.yaml", append([]byte("\ufeff"), data...)); err != nil {
		t.Error(err)
	}
}
