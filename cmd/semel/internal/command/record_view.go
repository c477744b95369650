package command

import (
	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
)

// digestShown limits the printed digits of a digest: enough to identify one record among millions.
const digestShown = 12

func stateText(rec *semel.Record) string {
	if rec.Lapsed() {
		return "unknown (lapsed)"
	}
	return operator.State(rec).String()
}
