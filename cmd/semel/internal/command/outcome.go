package command

import (
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/operatorview"
)

// outcomeText describes the recorded answer in a few words for a list.
func outcomeText(rec *semel.Record) string {
	r := operatorview.ReadOutcome(rec)
	key, encrypted := semel.SealedWith(rec.Outcome)
	failed := operatorview.ViewRecord(rec).Failure
	switch {
	case failed != nil:
		return cli.PlainLine(shortened(failed.Error))
	case encrypted:
		return "encrypted with key " + key
	case r == nil && rec.State != semel.StateCompleted:
		return "-"
	case r == nil && !rec.Kept:
		return "not kept"
	case r == nil:
		return size(len(rec.Outcome))
	case r.BodyOmitted:
		return fmt.Sprintf("%d, body not kept", r.Status)
	}
	return fmt.Sprintf("%d, %s", r.Status, size(len(r.Body)))
}

// shortened cuts a text for a column.
func shortened(text string) string {
	const most = 60
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}

// size formats a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
