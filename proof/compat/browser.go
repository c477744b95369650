package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	browserTests = "proof/integration/browser"
	scriptless   = "without scripts"
)

// browsers are rows of the page. The files are those of the configurations' folders.
func browsers() []target {
	return []target{
		{name: "Chromium", start: reports("", "chromium", "--version", "--no-sandbox"), suites: []suite{
			{column: "forms", config: "playwright.config.ts", packages: []string{"/client", "/page", "/person-", "/inside", "/sign-in"}, skip: scriptless},
			{column: "forms without scripts", config: "playwright.config.ts", packages: []string{"/person-", "/sign-in"}, run: scriptless},
			{column: "offline queue", config: "playwright.config.ts", packages: []string{"/queue"}},
			{column: "console", config: "playwright.config.ts", packages: []string{"/console"}},
		}},
		{name: "Firefox ESR", start: reports("", "firefox-esr", "--version"), suites: []suite{
			{column: "forms", config: "firefox.config.ts", packages: []string{"/person", "/header"}},
			{column: "forms without scripts", config: "firefox.config.ts", packages: []string{"/noscript"}},
			{column: "console", config: "firefox.config.ts", packages: []string{"/console"}},
		}},
		{name: "WebKitGTK", start: reports("", "dpkg-query", "-W", "webkit2gtk-driver"), suites: []suite{
			{column: "forms", config: "webkit.config.ts", packages: []string{"/person"}},
			{column: "forms without scripts", config: "webkit.config.ts", packages: []string{"/noscript"}},
			{column: "offline queue", config: "webkit.config.ts", packages: []string{"/queue"}},
			{column: "console", config: "webkit.config.ts", packages: []string{"/console"}},
		}},
	}
}

// browse runs the suite in its browser.
func (s *suite) browse(ctx context.Context) (c cell, err error) {
	dir, err := os.MkdirTemp("", "semel-compat-")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "report.json")
	args := []string{"--no-install", "playwright", "test", "--config", s.config, "--reporter", "json"}
	if s.run != "" {
		args = append(args, "--grep", s.run)
	}
	if s.skip != "" {
		args = append(args, "--grep-invert", s.skip)
	}
	cmd := exec.CommandContext(ctx, "npx", append(args, s.packages...)...) //nolint:gosec // our own tests
	cmd.Dir, cmd.Stdout, cmd.Stderr = browserTests, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "PLAYWRIGHT_JSON_OUTPUT_NAME="+file)
	ended := cmd.Run()             // an error for tests that fail, which the report tells
	text, err := os.ReadFile(file) //nolint:gosec // our own
	if err != nil {
		return c, errors.Join(ended, err)
	}
	if c, err = readReport(text); err == nil && c.Passed+len(c.Failed) == 0 {
		err = fmt.Errorf("%s: no test ran: %w", strings.Join(cmd.Args, " "), ended)
	}
	return c, err
}

// described is a part of Playwright's report in JSON: a file, or a group of tests in it.
type described struct {
	Title  string
	Suites []described
	Specs  []struct {
		Title string
		Tests []struct {
			Status  string // expected, unexpected, flaky or skipped
			Results []struct{ Error struct{ Message string } }
		}
	}
}

// readReport counts the tests of a report. One that passed when it was tried again has passed.
func readReport(text []byte) (c cell, err error) {
	c.Failed = map[string]string{}
	var report struct {
		Suites []described
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return c, fmt.Errorf("read the report of Playwright: %w", err)
	}
	for _, e := range report.Errors {
		err = errors.Join(err, errors.New(e.Message))
	}
	for i := range report.Suites {
		report.Suites[i].count("", &c)
	}
	return c, err
}

func (d *described) count(in string, c *cell) {
	in = strings.TrimSpace(in + " " + d.Title)
	for i := range d.Suites {
		d.Suites[i].count(in, c)
	}
	for _, spec := range d.Specs {
		for _, one := range spec.Tests {
			switch one.Status {
			case "expected", "flaky":
				c.Passed++
			case "unexpected":
				said := ""
				for _, result := range one.Results {
					said, _, _ = strings.Cut(result.Error.Message, "\n")
				}
				c.Failed[in+" "+spec.Title] = said
			}
		}
	}
}
