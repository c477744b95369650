package lintcmd

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/lint"
)

// The parts of SARIF 2.1.0 that a report of statements needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		Bases      sarifBases    `json:"originalUriBaseIds"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifBases struct {
		Root sarifBase `json:"%SRCROOT%"`
	}
	sarifBase struct {
		Description sarifText `json:"description"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string        `json:"id"`
		ShortDescription sarifText     `json:"shortDescription"`
		FullDescription  sarifText     `json:"fullDescription"`
		Help             sarifText     `json:"help"`
		HelpURI          string        `json:"helpUri"`
		Default          sarifSeverity `json:"defaultConfiguration"`
		Properties       sarifTags     `json:"properties"`
	}
	sarifTags struct {
		Tags      []string `json:"tags"`
		Precision string   `json:"precision"`
	}
	sarifSeverity struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID        string             `json:"ruleId"`
		RuleIndex     int                `json:"ruleIndex"`
		Kind          string             `json:"kind"`
		Level         string             `json:"level"`
		Message       sarifText          `json:"message"`
		Locations     []sarifLocation    `json:"locations"`
		Fingerprints  map[string]string  `json:"partialFingerprints,omitempty"`
		BaselineState string             `json:"baselineState,omitempty"`
		Suppressions  []sarifSuppression `json:"suppressions,omitempty"`
		Fixes         []sarifFix         `json:"fixes,omitempty"`
		Properties    sarifProperties    `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifSpan `json:"deletedRegion"`
		Inserted sarifText `json:"insertedContent"`
	}
	sarifSpan struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	sarifRegion struct {
		StartLine   int       `json:"startLine"`
		StartColumn int       `json:"startColumn"`
		Snippet     sarifText `json:"snippet"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifProperties struct {
		Verdict string `json:"verdict"`
		Guard   string `json:"guard,omitempty"`
		Repeat  string `json:"repeat"`
	}
)

const lintManual = "https://github.com/semel-dev/semel/blob/main/docs/lint.md"

// sarifOf collects findings, and writes them as one log. Safe statements are left out.
func sarifOf(p *cli.Process) cli.Listing[lintRow] {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Bases.Root.Description.Text = "the folder in which semel lint was run"
	run.Tool.Driver = sarifDriver{Name: "semel lint", InformationURI: lintManual, Rules: sarifRules()}
	return cli.Listing[lintRow]{Write: func(one *lintRow) error {
		if one.Verdict >= lint.CannotTell || one.Rule == lint.NotNeeded {
			run.Results = append(run.Results, run.result(one))
		}
		return nil
	}, End: func() error {
		if all := len(run.Results); all > maxSARIF {
			slices.SortStableFunc(run.Results, func(a, b sarifResult) int { return severity(&b) - severity(&a) })
			run.Results = run.Results[:maxSARIF]
			fmt.Fprintf(p.Stderr, "The log has the %d worst of %d results: GitHub refuses a log with more.\n", maxSARIF, all) //nolint:errcheck // a remark.
		}
		encoder := json.NewEncoder(p.Stdout)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(sarifLog{
			Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
		})
	}}
}

// maxSARIF is the number of results of a run that GitHub takes.
const maxSARIF = 25_000

// severity orders results: what has an answer comes last.
func severity(r *sarifResult) int {
	if r.Suppressions != nil {
		return 0
	}
	return 1 + slices.Index([]string{"note", "warning", "error"}, r.Level)
}

func sarifRules() (all []sarifRule) {
	rules := lint.Rules()
	for i := range rules {
		all = append(all, sarifRuleOf(&rules[i]))
	}
	return all
}

func sarifRuleOf(r *lint.Rule) sarifRule {
	return sarifRule{
		ID: r.ID, ShortDescription: sarifText{r.Means}, FullDescription: sarifText{fullOf(r)}, Help: sarifText{explained(r)}, HelpURI: lintManual + "#the-rules",
		Default: sarifSeverity{sarifLevel(r.Verdict)}, Properties: sarifTags{[]string{"idempotency", "sql"}, "high"},
	}
}

// fullOf describes a rule with what makes the statement safe.
func fullOf(r *lint.Rule) string {
	text := "A statement is " + r.Verdict.String() + ": " + r.Means + "."
	if r.Cure != "" {
		text += " What makes it safe: " + r.Cure + "."
	}
	return text
}

func sarifLevel(v lint.Verdict) string {
	switch v {
	case lint.NotSafe:
		return "error"
	case lint.CannotTell:
		return "warning"
	case lint.Safe, lint.SafeButTime:
	}
	return "note"
}

// result is a finding, whose rule is added when the rulebook lacks it.
func (r *sarifRun) result(one *lintRow) sarifResult {
	rules := &r.Tool.Driver.Rules
	index := slices.IndexFunc(*rules, func(rule sarifRule) bool { return rule.ID == one.Rule })
	if index < 0 {
		index = len(*rules)
		*rules = append(*rules, sarifRuleOf(&lint.Rule{ID: one.Rule, Verdict: one.Verdict, Means: one.Why}))
	}
	result := sarifResult{
		RuleID: one.Rule, RuleIndex: index, Kind: "fail", Level: sarifLevel(one.Verdict), Message: sarifText{advice(one.Finding)},
		Locations: []sarifLocation{{sarifPhysical{
			sarifArtifactOf(one.File), sarifRegion{max(1, one.Line), max(1, one.Column), sarifText{one.Text}},
		}}},
		Properties: sarifProperties{one.Verdict.String(), one.Guard, one.Repeat.String()},
	}
	if one.Fingerprint != "" {
		result.Fingerprints = map[string]string{"semelStatement/v1": one.Fingerprint}
	}
	if f := one.Fix; f != nil {
		result.Fixes = []sarifFix{{sarifText{one.Guard}, []sarifChange{{sarifArtifactOf(one.File), []sarifReplacement{{
			sarifSpan{f.Line, f.Column, f.EndLine, f.EndColumn}, sarifText{f.Text},
		}}}}}}
	}
	if one.known {
		result.BaselineState = "unchanged"
		result.Suppressions = []sarifSuppression{{"external", "it is in the baseline"}}
	}
	if one.Answer != "" {
		result.Suppressions = []sarifSuppression{{"inSource", one.Answer}}
	}
	return result
}

// sarifArtifactOf names a file: a relative path from the folder of the run, which code scanning takes for the root of the
// repository.
func sarifArtifactOf(path string) sarifArtifact {
	uri := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		uri.Scheme = "file"
		return sarifArtifact{URI: uri.String()}
	}
	return sarifArtifact{uri.String(), "%SRCROOT%"}
}
