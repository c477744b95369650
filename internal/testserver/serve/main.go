// Program serve starts the shared servers whose environment variables it is given, all at once. It prints what to
// export, closes its output, and runs until its input ends; then the servers end as well.
//
//	serve SEMEL_TEST_POSTGRES SEMEL_TEST_REDIS
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

func main() {
	if err := serve(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(names []string, in io.Reader, out io.WriteCloser) (err error) {
	home, err := dbserver.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	lines, err := start(home, names)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// start starts every server and returns a line for the shell about each.
func start(home *dbserver.Home, names []string) ([]string, error) {
	lines, errs := make([]string, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			var address string
			address, errs[i] = home.Shared(context.Background(), name)
			lines[i] = fmt.Sprintf("export %s='%s'", name, address)
		})
	}
	all.Wait()
	return lines, errors.Join(errs...)
}
