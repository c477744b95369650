package lintcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/lint"
)

// writeAnnotation writes a finding as GitHub's workflows read it.
func writeAnnotation(w io.Writer, one *lintRow) error {
	level := "warning"
	switch {
	case !one.open():
		level = "notice"
	case one.Verdict == lint.NotSafe:
		level = "error"
	}
	_, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=semel lint: %s::%s\n", level, githubText(one.File), one.Line, one.Column, githubText(one.Verdict.String()), githubText(advice(one.Finding)))
	return err
}

// githubText escapes a text for an annotation, which a log shows on a terminal too.
func githubText(s string) string {
	return cli.Plain(strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s))
}

// lintView is a finding as JSON.
func lintView(one *lintRow) json.Marshaler { return lintJSON{one} }

type lintJSON struct{ *lintRow }

// MarshalJSON implements [json.Marshaler].
func (v lintJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		File        string   `json:"file"`
		Line        int      `json:"line"`
		Column      int      `json:"column"`
		Name        string   `json:"name,omitempty"`
		Statement   string   `json:"statement"`
		Verdict     string   `json:"verdict"`
		Rule        string   `json:"rule"`
		Why         string   `json:"why"`
		Guard       string   `json:"guard,omitempty"`
		Assumes     []string `json:"assumes,omitempty"`
		Repeat      string   `json:"repeat"`
		Refusal     string   `json:"refusal,omitempty"`
		Reads       []string `json:"reads,omitempty"`
		Writes      []string `json:"writes,omitempty"`
		Answer      string   `json:"answer,omitempty"`
		Known       bool     `json:"known,omitempty"`
		Fingerprint string   `json:"fingerprint,omitempty"`

		Fix   *lint.Fix   `json:"fix,omitempty"`
		Proof *lint.Proof `json:"proof,omitempty"`
	}{
		v.File, v.Line, v.Column, v.Name, v.Text, v.Verdict.String(), v.Rule, v.Why, v.Guard, v.Assumes,
		v.Repeat.String(), v.Refusal, v.Reads, v.Writes, v.Answer, v.known, v.Fingerprint, v.Fix, v.Proof,
	})
}
