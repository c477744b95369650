// Package report writes the results of a run of checks: as text for a terminal, as JSON for programs, as JUnit XML for build
// servers, and as one page of HTML for other readers.
//
// All formats start from the same [check.Report], in which secrets are already masked. Nothing here sends or reads anything.
package report
