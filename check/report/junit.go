package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Suites  []junitSuite `xml:"testsuite"`
	junitNumbers
}

type junitNumbers struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitSuite struct {
	Name      string `xml:"name,attr"`
	Timestamp string `xml:"timestamp,attr"`
	Time      string `xml:"time,attr"`
	junitNumbers
	Cases []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as XML for build servers: a suite for each group, a case for each check. A MUST that could
// not be judged is an error; any other check that could not be judged, does not apply, is known to fail or is an echo
// counts as skipped.
func JUnit(w io.Writer, r *check.Report) error {
	all := junitSuites{Name: "semel check " + r.Target, Time: seconds(r.Took)}
	for _, g := range groups(r) {
		suite := junitSuite{Name: g.Name, Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05")}
		var took time.Duration
		for _, one := range g.Results {
			took += one.Took
			suite.add(junitOf(one))
		}
		suite.Time = seconds(took)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	to := xml.NewEncoder(w)
	to.Indent("", "  ")
	if err := to.Encode(&all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitOf(one *check.Result) junitCase {
	c := junitCase{Class: "semel." + strings.ReplaceAll(one.Group, " ", "-"), Name: one.ID + " " + one.Says, Time: seconds(one.Took)}
	seen := visible(one.Reason)
	message := &junitMessage{Message: seen, Type: string(one.Level)}
	switch one.Verdict {
	case check.Fail:
		message.Text = fmt.Sprintf("%s\n%s\n%s\n\n%s", seen, one.Advice, one.Source, Reproduce(one))
		c.Failure = message
	case check.Incomplete:
		if one.Level == check.LevelMust {
			c.Error = message
		} else {
			c.Skipped = message
		}
	case check.Known:
		message.Message = "known to fail, by the baseline: " + seen
		c.Skipped = message
	case check.Echo:
		message.Message = "echo of " + one.EchoOf + ": " + seen
		c.Skipped = message
	case check.Skipped:
		c.Skipped = message
	case check.Pass:
	}
	return c
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
