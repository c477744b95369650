// Program serve serves the rows of package pairs. It prints its address, and runs until its input ends.
package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"

	"github.com/semel-dev/semel/internal/pairs"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	rows, end, err := pairs.New()
	if err != nil {
		return err
	}
	defer end()
	server := httptest.NewServer(rows)
	defer server.Close()
	if _, err := fmt.Fprintln(out, server.URL); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
