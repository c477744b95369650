package paste_test

import (
	"strings"
	"testing"
)

// invoices runs the example application that the pages use.
const invoices = "invoices &\nuntil curl -sfo /dev/null http://127.0.0.1:9000/invoices; do sleep 0.1; done\n"

// The commands of docs/forms.md protect the form of a page, and show that they do.
func TestForms(t *testing.T) {
	t.Parallel()
	const page, section = "docs/forms.md", "Try it"
	commands := only(t, page, section, "sh")
	table := only(t, page, section, "")[0]
	output, err := paste(t, t.TempDir(), invoices+strings.Join(commands, "\n")+"\n"+
		"until curl -sfo /dev/null http://127.0.0.1:8080/invoices; do sleep 0.1; done\n"+
		"curl -s http://127.0.0.1:8080/invoices/new\n")
	if err != nil {
		t.Errorf("the commands failed: %v", err)
	}
	output = strings.Join(strings.Fields(output), " ")
	for line := range strings.Lines(table) {
		if want := strings.Join(strings.Fields(line), " "); !strings.Contains(output, want) {
			t.Errorf("the page shows %q; the command does not say so:\n%s", want, output)
		}
	}
	inOrder(t, output, `name="_semel" value="sm1.`)
}

// The first example of docs/http.md is executed, and its request creates an invoice.
func TestHTTPPage(t *testing.T) {
	t.Parallel()
	output, err := paste(t, home, blocks(t, "docs/http.md")[0].text)
	if err != nil {
		t.Errorf("the commands failed: %v", err)
	}
	inOrder(t, output, "HTTP/1.1 303", "Idempotency-Status: executed")
}

// Every command of docs/check.md is one that semel understands.
func TestCheckPage(t *testing.T) {
	t.Parallel()
	const page = "docs/check.md"
	lines := 0
	for _, b := range blocks(t, page) {
		if b.language != "sh" {
			continue
		}
		for line := range strings.Lines(b.text) {
			command, _, _ := strings.Cut(strings.TrimPrefix(line, "bin/"), " ||")
			if !strings.HasPrefix(command, "semel check ") {
				continue
			}
			lines++
			setting := "SERVICE=http://127.0.0.1:9000 DSN=sqlite:orders.db\n: >orders.db\n" +
				"echo 'curl -d n={{n}} http://127.0.0.1:9000/orders' >order.curl\n"
			if output, err := paste(t, t.TempDir(), setting+checkWith(command, "--dry-run")); err != nil {
				t.Errorf("%s: %v\n%s", strings.TrimSpace(line), err, output)
			}
		}
	}
	if lines < 3 {
		t.Errorf("%s has %d commands, want at least 3", page, lines)
	}
}

// checkWith adds flags to a command of semel check; what follows -- is curl's.
func checkWith(command, flags string) string {
	return strings.Replace(strings.TrimSpace(command), "semel check ", "semel check "+flags+" ", 1) + "\n"
}

// The first command of docs/check.md finds what the page says that it finds.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	blocks := blocks(t, "docs/check.md")
	output, err := paste(t, t.TempDir(), invoices+strings.TrimSpace(checkWith(blocks[0].text, "--only BASIC"))+" || test $? = 1\n")
	if err != nil {
		t.Errorf("the command failed: %v", err)
	}
	inOrder(t, output, "a repeated request is executed again.", "POST http://127.0.0.1:9000/invoices, profile ietf, level SHOULD",
		"3 failed, 7 passed, 3 skipped", "FAIL BASIC-02 MUST: A request that is sent again has no second effect.", "seen: 2 effects instead of one")
}
