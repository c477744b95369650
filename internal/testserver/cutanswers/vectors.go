package cutanswers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Vector is one answer of testdata/vectors/answers.json, which describes the members.
type Vector struct {
	Case     string `json:"case"`
	Status   int    `json:"status"`
	Framing  string `json:"framing"`
	Type     string `json:"type"`
	Text     string `json:"text"`
	Times    int    `json:"times"`
	Gzip     bool   `json:"gzip"`
	Replayed bool   `json:"replayed"`
	Cut      string `json:"cut"`
	By       string `json:"by"`
	Verdict  string `json:"verdict"`
}

// Read reads the vectors from a file.
func Read(name string) ([]Vector, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the vectors that the test names
	if err != nil {
		return nil, err
	}
	var file struct {
		About string   `json:"about"`
		Cases []Vector `json:"cases"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file.Cases, nil
}

// header returns the fields of the answer, names in lower case.
func (v *Vector) header(length int) [][2]string {
	media := v.Type
	if media == "" {
		media = "text/plain"
	}
	fields := [][2]string{{"content-type", media}}
	if v.Gzip {
		fields = append(fields, [2]string{"content-encoding", "gzip"})
	}
	if v.Replayed {
		fields = append(fields, [2]string{"idempotent-replayed", "true"})
	}
	switch v.Framing {
	case "length", "http2":
		fields = append(fields, [2]string{"content-length", fmt.Sprint(length)})
	case "chunked":
		fields = append(fields, [2]string{"transfer-encoding", "chunked"})
	}
	return fields
}

// body returns the content as it travels.
func (v *Vector) body() []byte {
	plain := strings.Repeat(v.Text, max(1, v.Times))
	if !v.Gzip {
		return []byte(plain)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(plain)) //nolint:errcheck // into memory.
	w.Close()              //nolint:errcheck // into memory.
	return packed.Bytes()
}

// sent returns the part of the body that is sent, and whether that is the whole body.
func (v *Vector) sent(body []byte) ([]byte, bool) {
	switch v.Cut {
	case "start", "header":
		return nil, false
	case "half":
		return body[:len(body)/2], false
	case "end":
		return body, false
	}
	return body, true
}
