package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/semel-dev/semel/rules"
)

// What people read about the rules.
func ExampleFile_PublishMarkdown() {
	file, err := rules.Parse("semel.yaml", []byte(`version: 1
unique:
  - name: payment
    says: One payment per id that the other system gave.
    table: payments
    scope: [source, external_id]
    fields: [part]
    on_conflict: upsert
    may_change: [note]
    must_not_change: [amount]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", file.PublishMarkdown("en"))
	// Output:
	// # What exists only once
	//
	// These rules say what counts as the same thing, and what happens when it is sent a second time.
	//
	// ## One payment per id that the other system gave.
	//
	// `payment`
	//
	// - Two are the same if they have the same: part
	// - A second one: is not created. The one that exists is changed where it may be.
	// - May change then: note
	// - Must not change: amount
	// - The message: An entry with the same part already exists and has other values that must not change. Nothing was changed.
}

// hostileFile has markup wherever a file can have text.
func hostileFile(tb testing.TB) *rules.File {
	tb.Helper()
	file, err := rules.Parse("rules.yaml", []byte(`version: 1
unique:
  - name: hostile
    says: "One <script>alert(1)</script> & *more* [x](javascript:1)."
    table: secret_table
    scope: [secret_tenant]
    fields: [part, code]
    index: secret_index
    except: [secret_gone is set]
    show: [part]
    labels: {en: {part: "<img src=x onerror=y>"}}
    messages: {en: "Part {part} <b>bold</b>.", sv: "Del {part} finns."}
`))
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// TestPublishedIsSafe: no page has markup of the file, and none tells tables,
// indexes, scopes or exceptions.
func TestPublishedIsSafe(t *testing.T) {
	t.Parallel()
	file := hostileFile(t)
	for _, lang := range rules.Languages() {
		page := string(file.PublishPage(lang))
		for name, text := range map[string]string{
			"page": page, "markdown": string(file.PublishMarkdown(lang)), "section": string(file.PublishSection(lang)), "JSON": string(file.PublishJSON()),
		} {
			if strings.Contains(text, "secret") || strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Contains(text, "<b>") {
				t.Errorf("the %s in %s has what it must not have:\n%s", name, lang, text)
			}
		}
		checkPage(t, page, lang)
	}
}

// checkPage: the page is whole, says its language, and can be read without
// scripts, by keyboard and aloud.
func checkPage(t *testing.T, page, lang string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	count, ids, links := map[string]int{}, map[string]bool{}, []string{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		count[n.Data]++
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has the handler %s", n.Data, a.Key)
			}
		}
		if id := attributes["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %s occurs twice", id)
			}
			ids[id] = true
		}
		if href, ok := strings.CutPrefix(attributes["href"], "#"); ok {
			links = append(links, href)
		}
		if n.Data == "html" && attributes["lang"] != lang || n.Data == "th" && attributes["scope"] == "" {
			t.Errorf("<%s> has no lang or scope: %v", n.Data, attributes)
		}
	}
	for _, link := range links {
		if !ids[link] {
			t.Errorf("the link #%s leads nowhere", link)
		}
	}
	if count["script"]+count["img"]+count["link"] > 0 || count["h1"] != 1 || count["main"] != 1 || count["caption"] != count["table"] || len(links) != 1 {
		t.Errorf("the page in %s has %v, links %v", lang, count, links)
	}
}

// TestPublishJSON: the member unique describes the rules to callers.
func TestPublishJSON(t *testing.T) {
	t.Parallel()
	file, err := rules.Load("testdata/unique.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Unique []map[string]any }
	if err := json.Unmarshal(file.PublishJSON(), &got); err != nil || len(got.Unique) != len(file.Unique) {
		t.Fatalf("%d rules, %v", len(got.Unique), err)
	}
	labels := func(en, sv string) map[string]any { return map[string]any{"en": en, "sv": sv, "hi": en, "zh": en} }
	want := map[string]any{
		"name": "invoice_number", "says": "One invoice number per tenant per year.", "on_conflict": "reject",
		"fields": []any{
			map[string]any{"name": "number", "labels": labels("invoice number", "fakturanummer")},
			map[string]any{"name": "issued_on", "labels": labels("year", "år")},
		},
		"messages": map[string]any{
			"en": "Invoice number … was used this year already.", "sv": "Fakturanumret … är redan använt i år.",
			"hi": "चालान संख्या … इस साल पहले ही इस्तेमाल हो चुकी है।", "zh": "发票号…今年已被使用。",
		},
	}
	if diff := cmp.Diff(want, got.Unique[0]); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	if got := string((&rules.File{}).PublishJSON()); got != "{\n  \"unique\": []\n}\n" {
		t.Errorf("without rules: %s", got)
	}
}

// TestPublishWithoutRules: the page says that there are none, and the section is
// empty.
func TestPublishWithoutRules(t *testing.T) {
	t.Parallel()
	file := &rules.File{}
	for lang, want := range map[string]string{"en": "No such rules exist.", "sv-FI": "Det finns inga sådana regler.", "de": "No such rules exist."} {
		if page, text := string(file.PublishPage(lang)), string(file.PublishMarkdown(lang)); !strings.Contains(page, want) || !strings.Contains(text, want) {
			t.Errorf("%s: %s\n%s", lang, page, text)
		}
		if section := file.PublishSection(lang); section != "" {
			t.Errorf("%s: section %q", lang, section)
		}
	}
}
