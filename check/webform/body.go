package webform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
)

// The codings of a form, as named by its enctype.
const (
	URLEncoded = "application/x-www-form-urlencoded"
	Multipart  = "multipart/form-data"
	PlainText  = "text/plain"
)

// ParseBody reads the fields of a body, in order. It accepts [URLEncoded], which a missing content type implies, and
// [Multipart].
func ParseBody(contentType string, body []byte) ([]Field, error) {
	if contentType == "" {
		return parsePairs(string(body))
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the content type %q cannot be read: %w", contentType, err)
	case media == URLEncoded:
		return parsePairs(string(body))
	case media != Multipart:
		return nil, fmt.Errorf("a body of type %s is not a form: give it as %s or %s", media, URLEncoded, Multipart)
	case parameters["boundary"] == "":
		return nil, errors.New("the content type of the body has no boundary")
	}
	return parseParts(multipart.NewReader(bytes.NewReader(body), parameters["boundary"]))
}

func parsePairs(body string) ([]Field, error) {
	var fields []Field
	for pair := range strings.SplitSeq(body, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		f := Field{}
		var err error
		if f.Name, err = url.QueryUnescape(name); err == nil {
			f.Value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("the body is not %s: %w", URLEncoded, err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func parseParts(parts *multipart.Reader) ([]Field, error) {
	var fields []Field
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return fields, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the body is not %s: %w", Multipart, err)
		}
		value, err := io.ReadAll(part) // a part of the body, which is in memory
		if err != nil {
			return nil, fmt.Errorf("the body is not %s: %w", Multipart, err)
		}
		f := Field{Name: part.FormName(), Value: string(value)}
		_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if name, ok := disposition["filename"]; ok {
			f.File = &File{Name: name, Type: part.Header.Get("Content-Type")}
		}
		fields = append(fields, f)
	}
}

// Encode writes the fields as browsers do, and returns the content type. The boundary is used for [Multipart] only; an
// unknown coding counts as [URLEncoded].
func Encode(coding, boundary string, fields []Field) (contentType string, body []byte) {
	switch coding {
	case Multipart:
		return Multipart + "; boundary=" + boundary, encodeParts(boundary, fields)
	case PlainText:
		var b bytes.Buffer
		for _, f := range fields {
			b.WriteString(f.Name + "=" + f.sent() + "\r\n")
		}
		return PlainText, b.Bytes()
	}
	escape := func(text string) string {
		return strings.NewReplacer("~", "%7E", "%2A", "*").Replace(url.QueryEscape(text))
	}
	pairs := make([]string, len(fields))
	for i, f := range fields {
		pairs[i] = escape(f.Name) + "=" + escape(f.sent())
	}
	return URLEncoded, []byte(strings.Join(pairs, "&"))
}

// sent returns the value outside of a multipart body: a file's name, or a text with the line ends of forms.
func (f *Field) sent() string {
	if f.File != nil {
		return f.File.Name
	}
	return strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(f.Value)
}

func encodeParts(boundary string, fields []Field) []byte {
	escape := strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace
	var b bytes.Buffer
	for _, f := range fields {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + escape(f.Name) + `"`)
		value := f.Value
		if f.File == nil {
			value = f.sent()
		} else {
			b.WriteString(`; filename="` + escape(f.File.Name) + "\"\r\nContent-Type: " + orElse(f.File.Type, "application/octet-stream"))
		}
		b.WriteString("\r\n\r\n" + value + "\r\n")
	}
	b.WriteString("--" + boundary + "--\r\n")
	return b.Bytes()
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
