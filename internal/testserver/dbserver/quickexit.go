package dbserver

import "context"

// quickExitSource leaves out what libraries registered for the end of a process. PostgreSQL has a process for each connection; at
// its end OpenSSL frees, one by one, tables that it shared with its parent, so that the system copied their pages first: that was
// half of the processor's time that a short connection took.
const quickExitSource = `
#include <stdio.h>
#include <unistd.h>

void exit(int code) {
	fflush(NULL);
	_exit(code);
}
`

// quickExit returns the variables that make the processes of a server end quickly, or nothing where no compiler is.
func (h *Home) quickExit(ctx context.Context) ([]string, error) {
	if _, err := find(compiler, compilerHint); err != nil {
		return nil, nil //nolint:nilerr // servers are only slower without it
	}
	library, err := h.library(ctx, "quickexit", quickExitSource)
	if err != nil {
		return nil, err
	}
	return []string{preload(library)}, nil
}
