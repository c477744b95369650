package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	checkreport "github.com/semel-dev/semel/check/report"
)

// checkOutput says what is printed and written, and what is only shown.
type checkOutput struct {
	list, dryRun, yes bool
	json, verbose     bool
	junit, html       string
	baseline, write   string
}

func (f *checkOutput) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.list, "list", false, "print the checks that there are, and end")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print which checks would run, and how many requests they would send, and end")
	flags.BoolVarP(&f.yes, "yes", "y", false, "send without asking, also to a host other than this machine")
	flags.BoolVar(&f.json, "json", false, "print one JSON object, for programs")
	flags.StringVar(&f.junit, "junit", "", "also write the report to this `file`, as JUnit XML")
	flags.StringVar(&f.html, "html", "", "also write it to this `file`, as a page for people")
	flags.StringVar(&f.baseline, "baseline", "", "`file` with the ids of checks that are known to fail, one a line")
	flags.StringVar(&f.write, "write-baseline", "", "write the ids of the checks that fail now to this `file`")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "also print what passed, and why others were skipped")
}

// reportFiles are open before anything is sent, so that no report gets lost.
type reportFiles []reportFile

type reportFile struct {
	file  *os.File
	write func(io.Writer, *check.Report) error
}

// open makes the files that were asked for.
func (f *checkOutput) open() (reportFiles, error) {
	var files reportFiles
	for _, one := range []struct {
		flag, name string
		write      func(io.Writer, *check.Report) error
	}{
		{"--junit", f.junit, checkreport.JUnit}, {"--html", f.html, checkreport.HTML}, {"--write-baseline", f.write, writeBaseline},
	} {
		if one.name == "" {
			continue
		}
		file, err := os.Create(one.name)
		if err != nil {
			return nil, usage(errors.Join(fmt.Errorf("%s: %w", one.flag, err), files.close()))
		}
		files = append(files, reportFile{file, one.write})
	}
	return files, nil
}

func (f reportFiles) close() error {
	var errs []error
	for _, one := range f {
		errs = append(errs, one.file.Close())
	}
	return errors.Join(errs...)
}

// tell prints the report and writes the files.
func (f *checkOutput) tell(p *process, r *check.Report, files reportFiles) error {
	var errs []error
	if f.json {
		errs = append(errs, checkreport.JSON(p.stdout, r))
	} else {
		errs = append(errs, checkreport.Text(p.stdout, r, &checkreport.TextOptions{
			Color: isTerminal(p.stdout) && p.getenv("NO_COLOR") == "", Verbose: f.verbose,
		}))
	}
	for _, one := range files {
		errs = append(errs, one.write(one.file, r))
	}
	return errors.Join(append(errs, files.close())...)
}
