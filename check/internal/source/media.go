package source

import (
	"bytes"
	"fmt"
	"strings"
)

// exampleOf returns the example of a parameter or a media type; nil if there is none.
func (a *openAPI) exampleOf(v *value) *value {
	example := v.get("example")
	examples := v.get("examples")
	for _, name := range examples.names() {
		if example == nil {
			example = a.resolve(examples.get(name)).get("value")
		}
	}
	if example != nil {
		a.fail(example.encode(&bytes.Buffer{})) // if it is too large
	}
	return example
}

func (a *openAPI) body() {
	kind, media := bestMedia(a.resolve(a.op.does.get("requestBody")).get("content"))
	if media == nil {
		return
	}
	example := a.exampleOf(media)
	if example == nil {
		example = a.build(media.get("schema"), "body")
	}
	if a.err != nil {
		return
	}
	body, contentType, err := a.encode(kind, media, example)
	a.fail(err)
	a.r.Template.Body = body
	a.r.add("Content-Type", contentType)
}

// bestMedia prefers a media type that can be built.
func bestMedia(content *value) (kind string, media *value) {
	best := 0
	for _, name := range content.names() {
		if rank := rankOfMedia(name); rank > best {
			best, kind, media = rank, name, content.get(name)
		}
	}
	return kind, media
}

func rankOfMedia(kind string) int {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	switch {
	case kind == "application/json":
		return 6
	case strings.HasSuffix(kind, "+json"):
		return 5
	case kind == "application/x-www-form-urlencoded":
		return 4
	case strings.HasPrefix(kind, "multipart/"):
		return 3
	case strings.HasPrefix(kind, "text/"), strings.Contains(kind, "*"):
		return 2
	}
	return 1
}

func (a *openAPI) encode(kind string, media, v *value) (body []byte, contentType string, err error) {
	lower := strings.ToLower(kind)
	var b bytes.Buffer
	switch {
	case strings.Contains(lower, "json"), strings.Contains(lower, "*"):
		if strings.Contains(kind, "*") {
			kind = "application/json"
		}
		err := v.encode(&b)
		return b.Bytes(), kind, err
	case v.is(kindText):
		return []byte(v.scalar), kind, nil
	case strings.HasPrefix(lower, "application/x-www-form-urlencoded"):
		var pairs []string
		for _, name := range v.names() {
			encoding := media.get("encoding").get(name)
			style := encoding.get("style").text()
			member := v.get(name)
			if member.is(kindObject) && style != "deepObject" {
				member = newText(asText(member))
			}
			explode := encoding.get("explode") == nil || encoding.get("explode").truth()
			pairs = append(pairs, pairsOf(name, style, explode, member)...)
		}
		return []byte(strings.Join(pairs, "&")), kind, nil
	case strings.HasPrefix(lower, "multipart/"):
		body, written, err := writeParts(a.parts(media, v))
		_, boundary, _ := strings.Cut(written, ";")
		return body, kind + ";" + boundary, err
	case strings.HasPrefix(lower, "text/"):
		return []byte(asText(v)), kind, nil
	}
	return nil, "", fmt.Errorf("a body of type %s cannot be generated: add an example to the document, or give the body", kind)
}

// parts returns those of a multipart body: files for binary schemas, JSON for objects, and text otherwise.
func (a *openAPI) parts(media, v *value) []part {
	schema := a.flat(media.get("schema"), 0)
	var parts []part
	for _, name := range v.names() {
		of := a.flat(schema.get("properties").get(name), 0)
		p := part{name: name, content: []byte(asText(v.get(name)))}
		switch {
		case of.get("format").text() == "binary", of.get("contentMediaType") != nil && of.get("contentEncoding") == nil:
			file := name + ".bin"
			p.fileName, p.contentType = &file, "application/octet-stream"
		case v.get(name).is(kindObject):
			p.contentType = "application/json"
		}
		if given := media.get("encoding").get(name).get("contentType").text(); given != "" {
			first, _, _ := strings.Cut(given, ",")
			p.contentType = strings.TrimSpace(first)
		}
		parts = append(parts, p)
	}
	return parts
}
