package check

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/semel-dev/semel/check/wire"
)

// spot is one place of a document, with its value.
type spot struct {
	place string // a JSON pointer, or words such as "word 12"
	name  string // of the member, field or attribute; empty if there is none
	value string
	bare  bool // not a text: a number, true, false or null of JSON
	page  bool // in an HTML page
}

// The bounds of what is examined in an answer.
const (
	// maxDecoded is the longest body after decompression.
	maxDecoded = 4 << 20
	// maxCompared is the longest body that is split into places, maxSpots the most places that are kept, and maxPlace
	// the longest name of one.
	maxCompared = 1 << 20
	maxSpots    = 20_000
	maxPlace    = 512
)

// plain returns the body of an answer without its content coding, or as it came if it cannot be decoded.
func plain(a *wire.Answer) []byte {
	if !strings.EqualFold(strings.TrimSpace(a.Header.Get("Content-Encoding")), "gzip") {
		return a.Body
	}
	unzip, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err != nil {
		return a.Body
	}
	body, err := io.ReadAll(io.LimitReader(unzip, maxDecoded))
	if err != nil {
		return a.Body
	}
	return body
}

// spots splits a body into places, in an order that does not depend on the order of the members of a JSON object. A
// body that is too long yields none, and one with too many places the first maxSpots.
func spots(contentType string, body []byte) []spot {
	if len(body) > maxCompared {
		return nil
	}
	if doc, ok := decodeJSON(body); ok {
		return jsonSpots(nil, "", "", doc)
	}
	if media, _, _ := mime.ParseMediaType(contentType); media == "text/html" || media == "application/xhtml+xml" {
		return pageSpots(body)
	}
	return wordSpots(nil, string(body), false)
}

// decodeJSON reads one JSON document. Numbers keep their digits.
func decodeJSON(body []byte) (doc any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&doc); err != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return doc, errors.Is(err, io.EOF)
}

func jsonSpots(all []spot, place, name string, doc any) []spot {
	switch {
	case len(all) >= maxSpots:
		return all
	case len(place) > maxPlace: // what is below counts as one value
		raw, err := json.Marshal(doc)
		if err != nil {
			raw = []byte(fmt.Sprint(doc))
		}
		sum := sha256.Sum256(raw)
		return append(all, spot{place: place[:maxPlace], name: strconv.Quote(shortened(name, maxBrief)), value: hex.EncodeToString(sum[:]), bare: true})
	}
	switch node := doc.(type) {
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(node)) {
			all = jsonSpots(all, place+"/"+escapeStep(member), member, node[member])
		}
		if len(node) == 0 {
			return append(all, spot{place: place, name: name, value: "{}"})
		}
	case []any:
		for i, element := range node {
			all = jsonSpots(all, place+"/"+strconv.Itoa(i), name, element)
		}
		if len(node) == 0 {
			return append(all, spot{place: place, name: name, value: "[]"})
		}
	case json.Number:
		return append(all, spot{place: place, name: name, value: node.String(), bare: true})
	case string:
		return append(all, spot{place: place, name: name, value: node})
	default:
		return append(all, spot{place: place, name: name, value: fmt.Sprint(node), bare: true})
	}
	return all
}

// escapeStep writes a name as a step of a JSON pointer (RFC 6901).
func escapeStep(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// pageSpots returns the words and attributes of a page, in order. The value of a field has the name of the field.
func pageSpots(body []byte) []spot {
	var all []spot
	in := html.NewTokenizer(bytes.NewReader(body))
	for len(all) < maxSpots {
		switch in.Next() {
		case html.ErrorToken:
			return all
		case html.TextToken:
			all = wordSpots(all, string(in.Text()), true)
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := in.Token()
			all = append(all, spot{place: "tag " + strconv.Itoa(len(all)+1), value: tag.Data, page: true})
			of := ""
			for _, attribute := range tag.Attr {
				if attribute.Key == "name" {
					of = attribute.Val
				}
			}
			for _, attribute := range tag.Attr {
				name := attribute.Key
				if of != "" && (name == "value" || name == "content") {
					name = of
				}
				all = append(all, spot{place: tag.Data + " " + name, name: name, value: attribute.Val, page: true})
			}
		case html.EndTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
	return all
}

func wordSpots(all []spot, text string, page bool) []spot {
	for word := range strings.FieldsSeq(text) {
		if len(all) >= maxSpots {
			break
		}
		all = append(all, spot{place: "word " + strconv.Itoa(len(all)+1), value: word, page: page})
	}
	return all
}
