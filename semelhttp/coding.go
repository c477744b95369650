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

// maxDecodedBytes bounds what a recorded answer decodes into. A longer one goes out as it was recorded.
const maxDecodedBytes = 32 << 20

// decodes returns a reader of the recorded body without its coding and the length without it, or nil if the answer goes out
// as it was recorded, because the caller accepts the coding or it cannot be removed. The body was decoded once to its end
// before: it is whole, and within the bound.
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

// codingOf returns the name of a coding in lower case; x-gzip is gzip (RFC 9110, section 8.4.1.3).
func codingOf(text string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "x-")
}

// decoder returns nil for an unknown coding, and for a body that does not begin like one.
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

// accepts reports whether Accept-Encoding accepts the coding (RFC 9110, section 12.5.3). A caller without that header is taken
// to accept none, because most of those cannot decode.
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

// plain changes the header of a replay whose coding was removed: what describes the encoded bytes is left out.
func plain(header http.Header, length int64) {
	for _, name := range []string{"Content-Encoding", "Content-Digest", "Repr-Digest", "Digest", "Content-Md5"} {
		delete(header, name)
	}
	header[contentLength] = []string{strconv.FormatInt(length, 10)}
	if tags := header["Etag"]; len(tags) == 1 && strings.HasPrefix(tags[0], `"`) {
		header["Etag"] = []string{"W/" + tags[0]}
	}
}
