package effects

import (
	"bytes"
	"fmt"
	"mime"
	"slices"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// HTML counts the elements of a page that match a CSS selector, such as "table#orders tbody tr". Scripts do not run, so
// elements that they add are missing. Next pages are NOT followed, as with [JSON]. The URL, the selector and header
// lines may have places ([check.Template]). A nil client means the zero client.
func HTML(client *wire.Client, url, selector string, header []wire.Field) (check.Counter, error) {
	if _, err := parseSelector(check.Values{"uuid": "x", "n": "1", "now": "x", "key": "x", "minted": "x"}.Fill(selector)); err != nil {
		return nil, err
	}
	what, places := "elements "+selector, []string{selector}
	return countOf(client, url, what, slices.Clone(header), places, func(answer *wire.Answer, fill func(string) string) (int64, error) {
		of, err := filled(fill, selector)
		if err != nil {
			return 0, err
		}
		return countHTML(answer, of)
	})
}

func parseSelector(selector string) (cascadia.SelectorGroup, error) {
	group, err := cascadia.ParseGroup(selector)
	if err != nil {
		return nil, fmt.Errorf("the selector %s cannot be read (%w): write it as in CSS, such as table#orders tbody tr", shown(selector), err)
	}
	return group, nil
}

func countHTML(answer *wire.Answer, selector string) (int64, error) {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return 0, fmt.Errorf("the answer is not a page, but %s: use a JSON pointer, or give the page's URL", shown(kind))
	}
	group, err := parseSelector(selector)
	if err != nil {
		return 0, err
	}
	page, err := html.Parse(bytes.NewReader(answer.Body))
	if err != nil {
		return 0, fmt.Errorf("read the page: %w", err)
	}
	found := cascadia.QueryAll(page, group)
	if goesOn(answer) {
		return 0, morePages(len(found))
	}
	return int64(len(found)), nil
}
