// Command otlp is the command semel with OpenTelemetry: its semel gateway --otlp sends traces and metrics to a collector. It is a
// module of its own, so that Semel does not depend on the SDK and the exporters.
package main

import (
	"os"

	"github.com/semel-dev/semel/cmd/semel/internal/command"
)

func main() { os.Exit(command.Main(export)) }
