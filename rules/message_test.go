package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/rules"
)

// unique returns the rule of this name in testdata/unique.yaml.
func unique(tb testing.TB, name string) *rules.Unique {
	tb.Helper()
	file, err := rules.Load("testdata/unique.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	for i := range file.Unique {
		if file.Unique[i].Name == name {
			return &file.Unique[i]
		}
	}
	tb.Fatalf("the file has no rule %s", name)
	return nil
}

// A conflict is reported in the caller's language, with the values it sent.
func ExampleUnique_Message() {
	file, err := rules.Load("testdata/unique.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	sent := map[string]string{"number": "A-17", "email": "ada@example.org"}
	for _, accept := range []string{"sv-SE, en;q=0.8", "de, zh;q=0.5", ""} {
		fmt.Println(file.Unique[0].Message(rules.Language(accept), sent))
	}
	fmt.Println(file.Unique[1].Message("en", sent))
	// Output:
	// Fakturanumret A-17 är redan använt i år.
	// 发票号A-17今年已被使用。
	// Invoice number A-17 was used this year already.
	// This already exists: an entry with the same email was created before, and here it is. Nothing was created twice.
}

// TestMessageTellsNothing: a message has what the caller itself sent as a column
// of show, and no other value, whatever is sent.
func TestMessageTellsNothing(t *testing.T) {
	t.Parallel()
	u := unique(t, "invoice_number")
	for name, tt := range map[string]struct {
		sent map[string]string
		want string
	}{
		"sent":            {map[string]string{"number": " A-17 "}, "Invoice number A-17 was used this year already."},
		"not sent":        {map[string]string{"tenant_id": "7"}, "Invoice number invoice number was used this year already."},
		"nothing sent":    {nil, "Invoice number invoice number was used this year already."},
		"control":         {map[string]string{"number": "A\r\n\x1b[31m\u202e17\u0000\xff"}, "Invoice number A[31m17 was used this year already."},
		"only control":    {map[string]string{"number": "\u202e\n"}, "Invoice number invoice number was used this year already."},
		"placeholder":     {map[string]string{"number": "{tenant_id}", "tenant_id": "7"}, "Invoice number {tenant_id} was used this year already."},
		"longer than 80":  {map[string]string{"number": strings.Repeat("9", 1000)}, "Invoice number " + strings.Repeat("9", 79) + "… was used this year already."},
		"80 are not long": {map[string]string{"number": strings.Repeat("日", 80)}, "Invoice number " + strings.Repeat("日", 80) + " was used this year already."},
	} {
		if diff := cmp.Diff(tt.want, u.Message("en", tt.sent)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	hidden := *u
	hidden.Show = nil
	if got := hidden.Message("en", map[string]string{"number": "A-17"}); strings.Contains(got, "A-17") {
		t.Errorf("without show: %s", got)
	}
}

// TestDefaultMessages: every behaviour has a text in every language, with the
// fields by their labels.
func TestDefaultMessages(t *testing.T) {
	t.Parallel()
	u := *unique(t, "invoice_number")
	u.Messages = nil
	seen := map[string]bool{}
	for _, u.OnConflict = range []rules.Conflict{rules.Reject, rules.ReturnExisting, rules.Upsert} {
		for _, lang := range rules.Languages() {
			text := u.Message(lang, nil)
			label := map[string]string{"en": "invoice number and year", "sv": "fakturanummer och år", "hi": "invoice number और year", "zh": "invoice number和year"}[lang]
			if seen[text] || !strings.Contains(text, label) {
				t.Errorf("%v in %s: %s", u.OnConflict, lang, text)
			}
			seen[text] = true
		}
	}
}

// TestMessageLanguage: a tag gets the text of its language, and a language that
// is not spoken English.
func TestMessageLanguage(t *testing.T) {
	t.Parallel()
	u := *unique(t, "invoice_number")
	for tag, want := range map[string]string{"sv": "Fakturanumret", "sv-SE": "Fakturanumret", "SV_fi": "Fakturanumret", "zh-Hant-TW": "发票号", "de": "Invoice", "": "Invoice", "hi": "चालान"} {
		if got := u.Message(tag, nil); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", tag, got)
		}
	}
	u.Messages = map[string]rules.Message{"sv": {Text: "Finns."}}
	if got := u.Message("de", nil); !strings.HasPrefix(got, "This already exists") {
		t.Errorf("without an English text: %s", got)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "en", "sv": "sv", "sv-SE,sv;q=0.9,en;q=0.8": "sv", "de-DE, hi;q=0.2, zh;q=0.3": "zh", "fr": "en", "*": "en",
		"en;q=0.1, sv;q=0": "en", "sv;q=x, hi": "hi", "zh-CN": "zh", "svenska": "en", strings.Repeat("x,", 40) + "sv": "en", ";;;,,,": "en",
		"en, sv": "en", "sv;q=0.5;level=1": "en",
	} {
		if got := rules.Language(header); got != want {
			t.Errorf("Language(%q) = %q, want %q", header, got, want)
		}
	}
}
