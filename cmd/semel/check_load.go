package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/semel-dev/semel/check/source"
)

// loadFile reads the request from the file that a flag names.
func (f *requestFlags) loadFile(at string) (*source.Request, error) {
	switch {
	case f.har != "":
		name, entry, _ := strings.Cut(f.har, "#")
		return reading(name, func(r io.Reader) (*source.Request, error) { return source.HAR(r, entry) })
	case f.openAPI != "":
		return reading(f.openAPI, func(r io.Reader) (*source.Request, error) { return source.OpenAPI(r, f.operation, at) })
	case f.httpFile != "":
		name, request, _ := strings.Cut(f.httpFile, "#")
		return reading(name, func(r io.Reader) (*source.Request, error) { return source.HTTPFile(r, request) })
	}
	return nil, errors.New("no file is named")
}

func reading(name string, read func(io.Reader) (*source.Request, error)) (*source.Request, error) {
	file, err := os.Open(name) //nolint:gosec // named by the person who runs the check.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return read(file)
}
