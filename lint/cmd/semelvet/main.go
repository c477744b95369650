// Command semelvet is a tool for go vet, which reports SQL statements that are not safe to run twice:
//
//	go vet -vettool=$(which semelvet) -dialect=postgresql -schema=migrations ./...
//
// It reads semel-lint.yaml as semel lint does. docs/lint.md describes both.
package main

import (
	"flag"
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/semel-dev/semel/lint/vet"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-V=full" {
		if err := printVersion(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "semelvet:", err)
			os.Exit(1)
		}
		return
	}
	o := options(flag.CommandLine)
	unitchecker.Main(vet.Analyzers(o)...)
}
