package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the scenarios start this program again, as the command does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childWord {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}
