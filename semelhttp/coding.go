package semelhttp

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxDecodedBytes is the longest recorded answer, without its coding, that is decoded for a caller who does not accept the coding.
const maxDecodedBytes = 32 << 20

// decodes returns a reader of the recorded body without its coding, where the caller does not accept that; nil where the answer
// goes out as it was recorded. It was read once to its end, so it is known to be whole and within the bound: length is its own.
func (e *envelope) decodes(header http.Header, accept []string) (from io.Reader, length int64) {
	coding := codingOf(strings.Join(header["Content-Encoding"], ","))
	if coding == "" || coding == "identity" || len(e.body) == 0 || accepts(accept, coding) {
		return nil, 0
	}
	from = decoder(coding, e.body)
	if from == nil {
		return nil, 0
	}
	length, err := io.Copy(io.Discard, io.LimitReader(from, maxDecodedBytes+1))
	if err != nil || length > maxDecodedBytes {
		return nil, 0
	}
	return decoder(coding, e.body), length
}

// codingOf returns the name of a coding in small letters; x-gzip is gzip (RFC 9110, section 8.4.1.3).
func codingOf(text string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "x-")
}

// decoder returns nil for a coding that it does not know, and for a body that does not begin like one.
func decoder(coding string, body []byte) io.Reader {
	var from io.Reader
	err := errors.ErrUnsupported
	switch coding {
	case "gzip":
		from, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		from, err = zlib.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil
	}
	return from
}

// accepts reports whether a caller says that it accepts the coding (RFC 9110, section 12.5.3). One that says nothing is taken to
// accept none, as most callers that say nothing do.
func accepts(lines []string, coding string) bool {
	other := false
	for item := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, parameters, _ := strings.Cut(item, ";")
		q, weighted := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(parameters, " ", "")), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		wanted := !weighted || err == nil && weight > 0
		switch codingOf(name) {
		case coding:
			return wanted
		case "*":
			other = wanted
		}
	}
	return other
}

// plain changes the header of a replay whose coding was removed. What it says of the bytes with the coding is left out.
func plain(header http.Header, length int64) {
	for _, name := range []string{"Content-Encoding", "Content-Digest", "Repr-Digest", "Digest", "Content-Md5"} {
		delete(header, name)
	}
	header[contentLength] = []string{strconv.FormatInt(length, 10)}
	if tags := header["Etag"]; len(tags) == 1 && strings.HasPrefix(tags[0], `"`) {
		header["Etag"] = []string{"W/" + tags[0]}
	}
}
