// Program serve serves the answers of testdata/vectors/answers.json, the file that it is given. It prints the addresses of
// its two servers, for HTTP/1.1 and HTTP/2, and runs until its input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/semel-dev/semel/internal/testserver/cutanswers"
)

func main() {
	if err := serve(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("give the file with the answers")
	}
	vectors, err := cutanswers.Read(args[0])
	if err != nil {
		return err
	}
	server, err := cutanswers.Start(context.Background(), vectors)
	if err != nil {
		return err
	}
	defer server.Close() //nolint:errcheck // the program ends.
	if _, err := fmt.Fprintf(out, "%s\n%s\n", server.Plain(), server.Secure()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
