package main

import (
	"errors"

	"github.com/semel-dev/semel/check/source"
)

// loadFile reads the request from the file that a flag names.
func (f *requestFlags) loadFile(string) (*source.Request, error) {
	return nil, errors.New("files of this kind are not read yet; copy the request as a curl command, and give it with --curl")
}
