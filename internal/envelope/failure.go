package envelope

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The first bytes of a recorded final error: of Do, as [OfError] writes it, and of a flow, as package flow does. The
// encoder writes members in the order of their fields, and no other outcome begins so.
const (
	failedWork = `{"semel":1,"error":"`
	failedFlow = `{"flow":1,"failed":{`
)

// maxRead bounds the bytes of a message that are looked at, and maxFlow the bytes of a flow's answer: it has at most 256 steps.
const (
	maxRead = 8 << 10
	maxFlow = 64 << 10
)

// Failure is a final error, as an operator sees it.
type Failure struct {
	Message string   `json:"reason"`
	Step    string   `json:"step"`   // of a flow: the step that failed; empty if none did, or the record is older than this
	Undone  []string `json:"undone"` // of a flow: the steps that were undone, the last one first
}

// Failed reports whether a kept outcome is a final error. It looks at the first bytes only.
func Failed(outcome []byte) bool {
	return bytes.HasPrefix(outcome, []byte(failedWork)) || bytes.HasPrefix(outcome, []byte(failedFlow))
}

// FailureOf returns the final error in a kept outcome; ok is false for any other. The message has at most most bytes.
func FailureOf(outcome []byte, most int) (f Failure, ok bool) {
	if !Failed(outcome) {
		return f, false
	}
	if text, work := bytes.CutPrefix(outcome, []byte(failedWork)); work {
		f.Message = opening(text)
	} else if len(outcome) <= maxFlow {
		var answer struct {
			Failed Failure `json:"failed"`
		}
		_ = json.Unmarshal(outcome, &answer) // what was damaged has no words
		f = answer.Failed
	}
	f.Message = cut(f.Message, most)
	return f, true
}

// opening decodes the first bytes of a JSON string whose quotation mark has been read.
func opening(text []byte) (s string) {
	var e struct {
		Text string `json:"t"`
	}
	if len(text) <= maxRead {
		if json.Unmarshal(append([]byte(`{"t":"`), text...), &e) == nil {
			return e.Text
		}
	}
	text = text[:min(len(text), maxRead)]
	for drop := 0; drop < 12 && drop < len(text); drop++ { // as long as the cut is within an escape, or two of one character
		if json.Unmarshal([]byte(`{"t":"`+string(text[:len(text)-drop])+`"}`), &e) == nil {
			return e.Text + "…"
		}
	}
	return ""
}

// cut shortens a text to so many bytes.
func cut(text string, most int) string {
	const more = "…"
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(more))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimSuffix(text[:end], more) + more
}
