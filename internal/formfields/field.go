// Package formfields reads the fields of a form that a stranger sent, as package semelhttp looks for keys in them and the gateway for
// what tells routes apart.
package formfields

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	mimemultipart "mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/semel-dev/semel/internal/jsonsearch"
)

const (
	// maxFieldBytes is the longest form field, name and value together, that is
	// looked at; of a longer value the digest counts.
	maxFieldBytes = 64 << 10
	maxFields     = 64 << 10 // of a form; frameworks read a few thousand
	digestPrefix  = "sha256:"
)

// Field is one field of a form.
type Field struct {
	Name, Value string
	Raw         string // as it came, in a URL-encoded form; of a long one the beginning, and a semicolon if one comes later
	Digested    bool   // Value is the digest of a long one
	File        bool   // it has a file name
}

// Error says to callers why the fields of a form cannot be read.
type Error struct{ reason string }

// Error implements error.
func (e *Error) Error() string { return e.reason }

// Each calls visit for every field of a form, URL-encoded or multipart, in constant memory. A body of another type has none.
// An [*Error] is about the form; any other is that of visit, or of reading.
func Each(r *http.Request, body jsonsearch.Body, visit func(Field) error) error {
	contentType := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil { // applications also read a form whose parameters are malformed
		media = strings.ToLower(strings.TrimLeft(contentType, " \t"))
		if i := strings.IndexAny(media, ";, \t"); i >= 0 { // as PHP does
			media = media[:i]
		}
	}
	multipart := media == "multipart/form-data" && params["boundary"] != ""
	switch {
	case multipart, media == "application/x-www-form-urlencoded":
	case media == "multipart/form-data" && err != nil:
		return &Error{"the content type of the form, which should hold it, is malformed"}
	default:
		return nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return &Error{fmt.Sprintf("the form is encoded (%.40q), so its fields cannot be read: send it as it is", coding)}
	}
	if err := jsonsearch.CheckCharset(params["charset"]); err != nil {
		return &Error{err.Error()}
	}
	from, err := body.Open()
	if err != nil {
		return err
	}
	in := &errorReader{from: from, ctx: r.Context()}
	if multipart {
		err = eachPart(in, params["boundary"], visit)
	} else {
		err = eachPair(bufio.NewReaderSize(in, maxFieldBytes), visit)
	}
	if in.err != nil {
		return in.err
	}
	return err
}

func eachPair(in *bufio.Reader, visit func(Field) error) error {
	for n := 1; ; n++ {
		pair, err := in.ReadSlice('&')
		text := strings.TrimSuffix(string(pair), "&")
		rawName, rawValue, _ := strings.Cut(text, "=")
		field := Field{Raw: text, Digested: errors.Is(err, bufio.ErrBufferFull) && len(rawName) < len(text)}
		var nameErr, valueErr error
		if field.Name, nameErr = url.QueryUnescape(rawName); field.Digested {
			var more string
			field.Value, more, err = longValue(rawValue, in)
			field.Raw += more
		} else {
			field.Value, valueErr = url.QueryUnescape(rawValue)
		}
		switch {
		case n > maxFields:
			return &Error{fmt.Sprintf("the form has more than %d fields, too many to find it among them (send fewer, or a JSON body)", maxFields)}
		case err != nil && !errors.Is(err, io.EOF):
			return &Error{fmt.Sprintf("the name of a form field is longer than %d bytes", maxFieldBytes)}
		case nameErr != nil || valueErr != nil:
			return &Error{"the form, which should hold it, is not well encoded"}
		}
		if text != "" {
			if err := visit(field); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the end of the form.
		}
	}
}

// longValue returns the digest of a value that starts with these bytes, as it
// is encoded, and a semicolon if one is in the rest; err is io.EOF at the end of the form.
func longValue(start string, in *bufio.Reader) (digest, semicolon string, err error) {
	hash := sha256.New()
	hash.Write([]byte(start))
	for {
		more, err := in.ReadSlice('&')
		hash.Write(bytes.TrimSuffix(more, []byte("&")))
		if bytes.IndexByte(more, ';') >= 0 {
			semicolon = ";"
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return digestPrefix + hex.EncodeToString(hash.Sum(nil)), semicolon, err
		}
	}
}

func eachPart(from io.Reader, boundary string, visit func(Field) error) error {
	counted := &delimiters{from: from, text: []byte("--" + boundary)}
	in := mimemultipart.NewReader(counted, boundary)
	for n := 1; ; n++ {
		part, err := in.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return counted.check(n)
		case err != nil:
			return &Error{"the form, which should hold it, is not well formed"}
		case n > maxFields:
			return &Error{fmt.Sprintf("the form has more than %d fields, too many to find it among them (send fewer, or a JSON body)", maxFields)}
		}
		field, plain := fieldOf(part.Header)
		if !plain {
			return &Error{"the form, which should hold it, has a part whose name or content can be read in two ways"}
		}
		if field.Value, field.Digested, err = partValue(part); err != nil {
			return &Error{"the form, which should hold it, is cut off"}
		}
		if err := visit(field); err != nil {
			return err
		}
	}
}

// fieldOf returns the field of a part, still without its value; plain is false if readers differ about it.
func fieldOf(header textproto.MIMEHeader) (field Field, plain bool) {
	lines := header["Content-Disposition"]
	if len(lines) != 1 {
		return field, len(lines) == 0 // such a part has no name
	}
	kind, params, err := mime.ParseMediaType(lines[0])
	_, field.File = params["filename"]
	field.Name = params["name"]
	coding := strings.ToLower(strings.TrimSpace(strings.Join(header["Content-Transfer-Encoding"], ",")))
	switch {
	case err != nil, kind != "form-data", strings.ContainsAny(field.Name, `"';\`), strings.Contains(field.Name, "=?"):
	case strings.Contains(strings.ReplaceAll(strings.ToLower(lines[0]), "filename*", ""), "name*"): // only some read RFC 2231 there
	case !field.File && coding != "" && coding != "7bit" && coding != "8bit" && coding != "binary": // only some decode
	default:
		return field, true
	}
	return field, false
}

// delimiters counts the delimiters of a form's parts, wherever they are: behind its end, inside of a line, or with text behind them they
// begin a part for some readers.
type delimiters struct {
	from  io.Reader
	text  []byte
	last  []byte // of what was read, that may begin one
	count int
}

// Read implements io.Reader.
func (d *delimiters) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	rest := append(d.last, p[:n]...)
	for {
		_, after, found := bytes.Cut(rest, d.text)
		if !found {
			break
		}
		d.count++
		rest = after
	}
	d.last = append(d.last[:0], rest[max(0, len(rest)-len(d.text)+1):]...)
	return n, err
}

// check reads to the end, and returns an [*Error] for other delimiters than the wanted ones.
func (d *delimiters) check(wanted int) error {
	if _, err := io.Copy(io.Discard, d); err != nil {
		return err
	}
	if d.count != wanted && d.count > 0 {
		return &Error{"the form, which should hold it, can be cut into parts in two ways"}
	}
	return nil
}

// partValue returns the content of a part, or the digest of a long one.
func partValue(part io.Reader) (value string, digested bool, err error) {
	start, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil || len(start) <= maxFieldBytes {
		return string(start), false, err
	}
	hash := sha256.New()
	hash.Write(start)
	if _, err := io.Copy(hash, part); err != nil {
		return "", false, err
	}
	return digestPrefix + hex.EncodeToString(hash.Sum(nil)), true, nil
}

// errorReader remembers why reading stopped: an error, or the end of the request.
type errorReader struct {
	from io.Reader
	ctx  context.Context //nolint:containedctx // of the request whose body this is.
	err  error
}

// Read implements io.Reader.
func (r *errorReader) Read(p []byte) (int, error) {
	if r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
