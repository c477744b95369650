package command

import (
	"github.com/semel-dev/semel"
)

// digestShown limits the printed digits of a digest: enough to identify one record among millions.
const digestShown = 12

func stateText(rec *semel.Record) string {
	if rec.Lapsed() {
		return "unknown (lapsed)"
	}
	return rec.State.String()
}
