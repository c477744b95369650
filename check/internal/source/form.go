package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"path"
	"strings"
)

// formField is one -F, or one --form-string.
type formField struct {
	text    string
	literal bool
}

// name returns the field's name for messages, since its content may be a secret.
func (f formField) name() string {
	name, _, _ := strings.Cut(f.text, "=")
	return name
}

// part is one part of a multipart body. fileName nil means a plain field.
type part struct {
	name        string
	content     []byte
	fileName    *string
	contentType string
}

func (c *command) multipart() (body []byte, contentType string, err error) {
	parts := make([]part, 0, len(c.form))
	size := 0
	for _, f := range c.form {
		p, err := c.partOf(f)
		if err != nil {
			return nil, "", fmt.Errorf("-F %q: %w", f.name(), err)
		}
		if size += len(p.content); size > MaxBytes {
			return nil, "", fmt.Errorf("the parts are larger than %d MiB: use smaller ones", MaxBytes>>20)
		}
		parts = append(parts, p)
	}
	return writeParts(parts)
}

func (c *command) partOf(f formField) (part, error) {
	name, text, ok := strings.Cut(f.text, "=")
	if !ok {
		return part{}, errors.New("it has no equals sign: write NAME=CONTENT")
	}
	p := part{name: name}
	if f.literal {
		p.content = []byte(text)
		return p, nil
	}
	kind := ""
	if strings.HasPrefix(text, "@") || strings.HasPrefix(text, "<") {
		kind, text = text[:1], text[1:]
	}
	value, params := splitParams(text)
	if kind == "" {
		p.content = []byte(value)
	} else {
		data, err := c.readInput(value)
		if err != nil {
			return part{}, err
		}
		p.content = data
	}
	if kind == "@" {
		base := path.Base(strings.ReplaceAll(value, `\`, "/"))
		p.fileName, p.contentType = &base, typeOfFile(base)
	}
	for _, param := range params {
		switch param.name {
		case "type":
			p.contentType = param.value
		case "filename":
			p.fileName = &param.value
		case "":
			c.notes = append(c.notes, fmt.Sprintf("curl ignores the text after a semicolon in -F %q: put the whole value into double quotes", f.name()))
		default:
			return part{}, fmt.Errorf("%q is not supported: use ;type= or ;filename=", param.name)
		}
	}
	return p, nil
}

type param struct{ name, value string }

// splitParams splits the content of -F as curl does: the value ends at a semicolon, unless it is quoted; parameters of
// the type may follow ;type=. curl leaves out a parameter without a name.
func splitParams(text string) (value string, params []param) {
	value, text = unquoted(text)
	for text != "" {
		text = strings.TrimLeft(text[1:], " ") // after the semicolon
		name := ""
		for _, known := range []string{"type", "filename", "headers", "encoder"} {
			if rest, ok := strings.CutPrefix(text, known+"="); ok {
				name, text = known, rest
			}
		}
		var of string
		of, text = unquoted(text)
		switch last := len(params) - 1; {
		case name == "" && last >= 0 && params[last].name == "type":
			params[last].value += "; " + of
		case name != "" || of != "":
			params = append(params, param{name, of})
		}
	}
	return value, params
}

// unquoted returns the text up to a semicolon, and the rest. In double quotes a semicolon is text; anything after the
// closing quote is left out.
func unquoted(text string) (value, rest string) {
	var b strings.Builder
	quoted := strings.HasPrefix(text, `"`)
	for i := 1; quoted && i < len(text); i++ {
		switch {
		case text[i] == '"':
			_, rest, ok := strings.Cut(text[i+1:], ";")
			if ok {
				rest = ";" + rest
			}
			return b.String(), rest
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
		}
		b.WriteByte(text[i])
	}
	end := strings.IndexByte(text, ';')
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end:]
}

// typeOfFile returns the type that curl assumes for a file.
func typeOfFile(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".gif":
		return "image/gif"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain"
	case ".htm", ".html":
		return "text/html"
	case ".pdf":
		return "application/pdf"
	case ".xml":
		return "application/xml"
	}
	return "application/octet-stream"
}

// writeParts writes a multipart body. Its boundary is derived from the parts: the same parts give the same bytes, as a
// repetition requires.
func writeParts(parts []part) (body []byte, contentType string, err error) {
	hash := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(hash, "%q %q\n", p.name, p.content) // never fails
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary("------------------------" + hex.EncodeToString(hash.Sum(nil)[:12])); err != nil {
		return nil, "", err
	}
	for _, p := range parts {
		quote := strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace
		disposition := "form-data"
		if p.name != "" {
			disposition += `; name="` + quote(p.name) + `"`
		}
		if p.fileName != nil {
			disposition += `; filename="` + quote(*p.fileName) + `"`
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.contentType != "" {
			header.Set("Content-Type", p.contentType)
		}
		to, err := w.CreatePart(header)
		if err != nil {
			return nil, "", err
		}
		if _, err := to.Write(p.content); err != nil {
			return nil, "", err
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}
