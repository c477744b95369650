package checkcmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	checkreport "github.com/semel-dev/semel/check/report"
	"github.com/semel-dev/semel/internal/cli"
)

// checkOutput holds the flags of the reports.
type checkOutput struct {
	list, dryRun, yes bool
	json, verbose     bool
	junit, html       string
	baseline          string
	writeBaseline     string
}

func (f *checkOutput) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.list, "list", false, "list all checks and exit")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the checks that would run and how many requests they would send, and exit")
	flags.BoolVarP(&f.yes, "yes", "y", false, "send without asking, even to another machine")
	flags.BoolVar(&f.json, "json", false, "print the report as one JSON object")
	flags.StringVar(&f.junit, "junit", "", "also write the report to this `file` as JUnit XML")
	flags.StringVar(&f.html, "html", "", "also write the report to this `file` as an HTML page")
	flags.StringVar(&f.baseline, "baseline", "", "`file` with the ids of checks that are known to fail, one per line")
	flags.StringVar(&f.writeBaseline, "write-baseline", "", "write the ids of the checks that fail to this `file`")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "also print what passed, and why checks were skipped")
}

// reportFiles are opened before anything is sent, so that no report gets lost.
type reportFiles []reportFile

type reportFile struct {
	file  *os.File
	write func(io.Writer, *check.Report) error
	// whole keeps the old contents if the run did not finish: a partial result would forget the rest.
	whole bool
}

func (f *checkOutput) openFiles() (reportFiles, error) {
	var files reportFiles
	for _, one := range []struct {
		flag, name string
		write      func(io.Writer, *check.Report) error
		whole      bool
	}{
		{"--junit", f.junit, checkreport.JUnit, false}, {"--html", f.html, checkreport.HTML, false}, {"--write-baseline", f.writeBaseline, writeBaseline, true},
	} {
		if one.name == "" {
			continue
		}
		file, err := os.OpenFile(one.name, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // a report, named by the person who wants it.
		if err != nil {
			return nil, cli.Usage(errors.Join(fmt.Errorf("%s: %w", one.flag, err), files.close()))
		}
		files = append(files, reportFile{file, one.write, one.whole})
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

func (f *checkOutput) emit(p *cli.Process, r *check.Report, files reportFiles) error {
	var err error
	if !f.json {
		err = checkreport.Text(p.Stdout, r, &checkreport.TextOptions{
			Color: cli.IsTerminal(p.Stdout) && p.Getenv("NO_COLOR") == "", Verbose: f.verbose,
		})
	}
	return errors.Join(err, f.write(p, r, files))
}

// write writes the report for programs, and the files.
func (f *checkOutput) write(p *cli.Process, r *check.Report, files reportFiles) error {
	var errs []error
	if f.json {
		errs = append(errs, checkreport.JSON(p.Stdout, r))
	}
	for _, one := range files {
		errs = append(errs, one.replace(r))
	}
	return errors.Join(append(errs, files.close())...)
}

// replace overwrites the file with the report.
func (f reportFile) replace(r *check.Report) error {
	if f.whole && !r.Whole {
		return fmt.Errorf("%s was left unchanged, since the run did not finish", f.file.Name())
	}
	if err := f.file.Truncate(0); err != nil && f.isRegular() {
		return fmt.Errorf("empty %s: %w", f.file.Name(), err)
	}
	return f.write(f.file, r)
}

// isRegular is false for a pipe or a device, which cannot be truncated.
func (f reportFile) isRegular() bool {
	info, err := f.file.Stat()
	return err == nil && info.Mode().IsRegular()
}
