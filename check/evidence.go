package check

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/semel-dev/semel/check/wire"
)

const (
	// evidenceBytes limits how much of a body a report keeps, and evidenceExchanges how many exchanges of a check.
	evidenceBytes     = 4 << 10
	evidenceExchanges = 40
	// headerLines limits the header lines of an answer; each is cut to searchedBytes before it is masked, and to
	// headerBytes after.
	headerLines = 50
	headerBytes = 1 << 10
	// hexBytes limits how much of a binary body is shown.
	hexBytes = 64
)

// Evidence is an [Exchange] as JSON and pages show it. Members may be added,
// and none changes its meaning.
type Evidence struct {
	Label   string         `json:"label"`
	Began   time.Time      `json:"began"`
	Request *RequestShown  `json:"request,omitempty"`
	Answer  *AnswerShown   `json:"answer,omitempty"`
	Error   string         `json:"error,omitempty"`
	Manner  map[string]any `json:"manner,omitempty"` // what was unusual about the sending
}

// RequestShown is a request with its secrets masked.
type RequestShown struct {
	Method string       `json:"method"`
	URL    string       `json:"url"`
	Header []wire.Field `json:"header,omitempty"`
	Body   BodyShown    `json:"body"`
}

// AnswerShown is an answer with its secrets masked.
type AnswerShown struct {
	Proto  string       `json:"proto"`
	Status int          `json:"status"`
	Header []wire.Field `json:"header,omitempty"`
	Body   BodyShown    `json:"body"`
	// Cut says that the body was too long to be read, or ended early.
	Cut    bool  `json:"cut,omitempty"`
	TookMS int64 `json:"took_ms"`
}

// BodyShown is the beginning of a body, at most 4 KiB of text.
type BodyShown struct {
	Bytes int    `json:"bytes"` // of the whole body
	Text  string `json:"text,omitempty"`
	Hex   string `json:"hex,omitempty"` // of a binary body: its first 64 bytes
}

// Evidence returns the exchange as reports show it.
func (e *Exchange) Evidence() Evidence {
	shown := Evidence{Label: e.Label, Began: e.Began, Error: e.Error, Manner: mannerShown(&e.Manner)}
	if r := e.Request; r != nil {
		shown.Request = &RequestShown{
			Method: r.Method, URL: r.URL.String(), Header: r.Header, Body: bodyShown(r.Body, e.RequestBytes),
		}
	}
	if a := e.Answer; a != nil {
		shown.Answer = &AnswerShown{
			Proto: a.Proto, Status: a.Status, Header: fields(a.Header), Body: bodyShown(a.Body, e.AnswerBytes),
			Cut: a.Cut, TookMS: a.Took.Milliseconds(),
		}
	}
	return shown
}

// MarshalJSON implements [json.Marshaler]: an exchange is its [Evidence].
func (e Exchange) MarshalJSON() ([]byte, error) { return json.Marshal(e.Evidence()) }

func mannerShown(m *wire.Manner) map[string]any {
	shown := map[string]any{}
	if m.Fault != wire.None {
		shown["fault"] = m.Fault
	}
	if m.Chunked {
		shown["chunked"] = true
	}
	if m.Expect {
		shown["expect"] = true
	}
	if m.Pieces > 1 {
		shown["pieces"], shown["pause_ms"] = m.Pieces, m.Pause.Milliseconds()
	}
	if m.Timeout > 0 {
		shown["timeout_ms"] = m.Timeout.Milliseconds()
	}
	return shown
}

func fields(header http.Header) []wire.Field {
	var all []wire.Field
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			all = append(all, wire.Field{Name: name, Value: value})
		}
	}
	return all
}

func bodyShown(body []byte, size int) BodyShown {
	shown := BodyShown{Bytes: max(size, len(body))}
	body = beginning(body)
	if isText(body) {
		shown.Text = string(body)
	} else {
		shown.Hex = hex.EncodeToString(body[:min(len(body), hexBytes)])
	}
	return shown
}

// forget drops the parts that no report shows and that would fill the memory if answers are long.
func (e *Exchange) forget() {
	if e.Request != nil && len(e.Request.Body) > searchedBytes {
		e.RequestBytes, e.Request.Body = len(e.Request.Body), bytes.Clone(e.Request.Body[:searchedBytes])
	}
	e.Error = shortened(e.Error, searchedBytes)
	if e.Answer == nil {
		return
	}
	short := *e.Answer
	short.Header = firstLines(short.Header)
	if len(short.Body) > searchedBytes {
		e.AnswerBytes, short.Body = len(short.Body), bytes.Clone(short.Body[:searchedBytes])
	}
	e.Answer = &short
}

// firstLines returns the lines of a header that a report shows, and one more, under a name that no header has, with the
// number of lines left out.
func firstLines(header http.Header) http.Header {
	kept, left := http.Header{}, 0
	for i, f := range fields(header) {
		if i >= headerLines || len(f.Name) > headerBytes {
			left++
			continue
		}
		kept[f.Name] = append(kept[f.Name], strings.Clone(f.Value[:min(len(f.Value), searchedBytes)]))
	}
	if left > 0 {
		kept["…"] = []string{fmt.Sprintf("%d more lines", left)}
	}
	return kept
}

// cut drops the parts that a report does not keep.
func (e *Exchange) cut() {
	if e.Request != nil {
		e.Request.Body = beginning(e.Request.Body)
		for i := range e.Request.Header {
			e.Request.Header[i].Value = shortened(e.Request.Header[i].Value, headerBytes)
		}
	}
	if e.Answer != nil {
		e.Answer.Body = beginning(e.Answer.Body)
		for _, values := range e.Answer.Header {
			for i := range values {
				values[i] = shortened(values[i], headerBytes)
			}
		}
	}
}

// beginning returns the part of a body that is kept, without cutting a character.
func beginning(body []byte) []byte {
	if len(body) <= evidenceBytes {
		return body
	}
	end := evidenceBytes
	for range utf8.UTFMax - 1 {
		if !utf8.RuneStart(body[end]) {
			end--
		}
	}
	return slices.Clone(body[:end])
}

// isText reports whether the body is readable text, which may end within a character.
func isText(body []byte) bool {
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && size <= 1:
			return !utf8.FullRune(body)
		case unicode.IsControl(r) && !unicode.IsSpace(r):
			return false
		}
		body = body[size:]
	}
	return true
}
