// Package report writes down what a run of checks found: as text for a
// terminal, as JSON for programs, as JUnit XML for build servers, and as one
// page of HTML for everybody else.
//
// All of them start from the same [check.Report], in which secrets are masked
// already. Nothing here sends or reads anything.
package report
