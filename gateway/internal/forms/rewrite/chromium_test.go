package rewrite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
)

// judge is a page that loads others in frames, with and without scripts, and writes down which forms they have, and which
// of the inserted inputs belong to each.
const judge = `<!DOCTYPE html><script type="application/json" id="pages">%s</script><script>
const roots = root => [root, ...[...root.querySelectorAll("template")].flatMap(t => roots(t.content))]
const forms = root => [...root.querySelectorAll("form")].filter(form => form.namespaceURI.endsWith("xhtml"))
const look = page => roots(page).flatMap(root => forms(root).map(form =>
	[...root.querySelectorAll("input[name=_semel]")].filter(i => (i.form ?? i.closest("form")) === form).length))
const load = (html, sandbox) => new Promise(done => {
	const frame = document.createElement("iframe")
	if (sandbox) frame.sandbox = "allow-same-origin"
	frame.onload = () => { done(look(frame.contentDocument)); frame.remove() }
	frame.srcdoc = html
	document.body.append(frame)
})
onload = async () => {
	const seen = {}
	await Promise.all(Object.entries(JSON.parse(pages.textContent)).map(async ([name, page]) => {
		const [Plain, Rewritten, NoScripts] = await Promise.all([load(page.Plain), load(page.Rewritten), load(page.Rewritten, true)])
		seen[name] = { Plain, Rewritten, NoScripts }
	}))
	const out = document.createElement("pre")
	out.textContent = JSON.stringify(seen)
	document.body.append(out)
}
</script><body>`

// seen is for each form of a page how many of the inserted inputs are its own.
type seen struct{ Plain, Rewritten, NoScripts []int }

// TestChromiumAgrees loads the pages of TestWhereATagIsATag: every form there is has got its input, and is the same form
// as before.
func TestChromiumAgrees(t *testing.T) {
	t.Parallel()
	// Where noscript is so broken that browsers with and without scripts read another page behind it, it is rewritten for
	// those with.
	split := []string{"a form in a select", "a noscript with a tag", "a noscript with a template"}
	loaded := make(map[string]struct{ Plain, Rewritten string })
	for name, page := range pages {
		plain := unmarked.Replace(page)
		var out bytes.Buffer
		w := rewrite.NewWriter(&out, onlyForms{}, nil)
		fmt.Fprint(w, plain)
		noError(t, w.Close())
		loaded[name] = struct{ Plain, Rewritten string }{plain, out.String()}
	}
	judged := load(t, loaded)
	if len(judged) != len(pages) {
		t.Errorf("%d pages were judged, want %d", len(judged), len(pages))
	}
	for name, got := range judged {
		if len(got.Rewritten) != len(got.Plain) {
			t.Errorf("%s: %d forms, were %d before the rewriter: %s", name, len(got.Rewritten), len(got.Plain), pages[name])
		}
		for i, n := range got.Rewritten {
			if n != 1 && name != "a form in a select" { // nothing is inserted there
				t.Errorf("%s: form %d has %d inputs, want 1: %s", name, i, n, pages[name])
			}
		}
		for i, n := range got.NoScripts {
			if n == 0 && !slices.Contains(split, name) {
				t.Errorf("%s: without scripts, form %d has no input: %s", name, i, pages[name])
			}
		}
	}
}

// onlyForms inserts nothing else.
type onlyForms struct{ tokens }

func (onlyForms) Form(*rewrite.Form) []byte { return []byte(formMark) }

// load has a headless Chromium open the pages.
func load(t *testing.T, pages any) map[string]seen {
	t.Helper()
	chromium := testserver.Chromium(t)
	text := must.Get(json.Marshal(pages)) // it writes "<" as \u003c
	dir := t.TempDir()
	file := filepath.Join(dir, "judge.html")
	noError(t, os.WriteFile(file, fmt.Appendf(nil, judge, text), 0o600))
	command := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--timeout=120000", "--virtual-time-budget=600000", "--dump-dom", "file://"+file)
	command.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	command.Stderr = &complaints
	dump, err := command.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, complaints.String())
	}
	root := must.Get(html.Parse(bytes.NewReader(dump)))
	result := make(map[string]seen)
	for node := range root.Descendants() {
		if node.Type == html.ElementNode && node.Data == "pre" {
			noError(t, json.Unmarshal([]byte(node.FirstChild.Data), &result))
			return result
		}
	}
	t.Fatalf("chromium has not judged the pages: %.2000s\n%s", dump, strings.TrimSpace(complaints.String()))
	return nil
}
