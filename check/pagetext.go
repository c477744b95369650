package check

import (
	"bytes"
	"mime"
	"strings"

	"golang.org/x/net/html"
)

// readsAlike reports whether two pages, with the bodies one and other, show a person the same text. Hidden fields,
// which are generated for every page, scripts, and notes about the sending (role=status) do not count.
func readsAlike(first, again reply, one, other []byte) bool {
	return isPage(first) && isPage(again) && bytes.Equal(pageText(one), pageText(other))
}

func isPage(r reply) bool {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media == "text/html" || media == "application/xhtml+xml"
}

// pageText returns the text and fields that a page shows.
func pageText(page []byte) []byte {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return page
	}
	var b bytes.Buffer
	show(&b, doc)
	return b.Bytes()
}

func show(b *bytes.Buffer, n *html.Node) {
	attributes := map[string]string{}
	for _, a := range n.Attr {
		attributes[a.Key] = a.Val
	}
	switch {
	case n.Type == html.TextNode:
		if words := strings.Fields(n.Data); len(words) > 0 {
			b.WriteString(strings.Join(words, " ") + "\n")
		}
		return
	case n.Type != html.ElementNode: // the document, and invisible nodes
	case n.Data == "script", n.Data == "style", n.Data == "template", attributes["role"] == "status":
		return
	case n.Data == "input" && !strings.EqualFold(attributes["type"], "hidden"):
		b.WriteString(attributes["value"] + "\n")
	case n.Data == "a":
		b.WriteString(attributes["href"] + "\n")
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		show(b, child)
	}
}
