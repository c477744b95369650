package storetest

import (
	"context"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
)

// RaceOptions say how hard [Race] races.
type RaceOptions = storerace.Options

// RaceReport is the result of [Race].
type RaceReport = storerace.Report

// Race races several open stores over one live database; see [storerace.Run].
// Programs other than tests import storerace directly, to avoid the packages
// that only tests need.
func Race(ctx context.Context, open func() (semel.Store, error), o *RaceOptions) (RaceReport, error) {
	return storerace.Run(ctx, open, o)
}
