// Command semel makes a create safe to send twice, for applications that cannot be changed (semel gateway), and shows why
// (semel demo). Run semel --help for its verbs; flags, output and exit codes are a contract.
package main

import (
	"os"

	"github.com/semel-dev/semel/cmd/semel/internal/command"
)

func main() { os.Exit(command.Main(nil)) }
