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

// part is one part of a multipart body. fileName nil means a plain field.
type part struct {
	name        string
	content     []byte
	fileName    *string
	contentType string
}

// multipart puts the fields of -F together.
func (c *command) multipart() (body []byte, contentType string, err error) {
	parts := make([]part, 0, len(c.form))
	size := 0
	for _, f := range c.form {
		p, err := c.partOf(f)
		if err != nil {
			return nil, "", fmt.Errorf("-F %q: %w", f.text, err)
		}
		if size += len(p.content); size > MaxBytes {
			return nil, "", fmt.Errorf("the parts are larger than %d MiB: take smaller ones", MaxBytes>>20)
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
		data, err := c.open(value)
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
		switch {
		case param.name == "type":
			p.contentType = param.value
		case param.name == "filename":
			p.fileName = &param.value
		default:
			return part{}, fmt.Errorf("%q is not supported: use ;type= or ;filename=", param.name)
		}
	}
	return p, nil
}

type param struct{ name, value string }

// splitParams takes ;type=, ;filename= and their like from the end of a part. A
// semicolon that begins none of them belongs to the value, as with curl.
func splitParams(text string) (value string, params []param) {
	if quoted, rest, ok := unquote(text); ok {
		value, text = quoted, rest
	} else {
		end := nextParam(text)
		value, text = text[:end], text[end:]
	}
	for text != "" {
		name, rest, ok := strings.Cut(strings.TrimLeft(text, "; "), "=")
		if !ok {
			break
		}
		p := param{name: name}
		if quoted, after, ok := unquote(rest); ok {
			p.value, text = quoted, after
		} else {
			end := nextParam(rest)
			p.value, text = rest[:end], rest[end:]
		}
		params = append(params, p)
	}
	return value, params
}

// nextParam is where the next parameter begins, or the length of the text.
func nextParam(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != ';' {
			continue
		}
		rest := strings.TrimLeft(text[i+1:], " ")
		for _, name := range []string{"type=", "filename=", "headers=", "encoder="} {
			if strings.HasPrefix(rest, name) {
				return i
			}
		}
	}
	return len(text)
}

// unquote takes a quoted text from the start.
func unquote(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			rest := text[i+1:]
			return b.String(), rest, rest == "" || strings.HasPrefix(strings.TrimLeft(rest, " "), ";")
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
		}
		b.WriteByte(text[i])
	}
	return "", text, false
}

// typeOfFile is what curl believes a file to be.
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

// writeParts writes a multipart body. Its boundary comes from the parts: the
// same ones give the same bytes, which is what a repetition must have.
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
		disposition := `form-data; name="` + quote(p.name) + `"`
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
