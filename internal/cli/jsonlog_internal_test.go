package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/outcomelog"
)

func jsonHandler(t *testing.T, stderr *bytes.Buffer) slog.Handler {
	t.Helper()
	log, err := (&LogFlags{format: "json", level: "debug"}).Logger(&Process{Stderr: stderr})
	if err != nil {
		t.Fatal(err)
	}
	return log.Handler()
}

// TestJSONLines: a line that is put together by hand has the bytes of slog.JSONHandler for every value.
func TestJSONLines(t *testing.T) {
	t.Parallel()
	values := []slog.Value{
		slog.AnyValue(nil), slog.AnyValue([]string(nil)), slog.AnyValue([]string{}), slog.AnyValue([]string{"a", "b"}), slog.AnyValue(errors.New(`at "x"`)),
		slog.BoolValue(true), slog.DurationValue(time.Second), slog.TimeValue(time.Unix(1, 2)), slog.GroupValue(), slog.AnyValue(struct{}{}),
		slog.GroupValue(slog.Int("", 1)), slog.GroupValue(slog.Int("a", 1), slog.Group("b", slog.Any("c", nil))), slog.GroupValue(slog.Attr{}),
		slog.AnyValue(outcomelog.Event{Outcome: outcomelog.Created, Key: "0123456789abcdef0", Route: "POST /<é>", Status: 201}),
		slog.AnyValue(outcomelog.Event{Outcome: outcomelog.Rejected, Rule: "email", Fields: []string{"email"}}), slog.Int64Value(math.MinInt64), slog.Uint64Value(math.MaxUint64),
	}
	for _, text := range []string{"", "POST /orders", "<&>~", "a\tb", `"`, `\`, "\x7f", "\x00", "é", "\xff", "\u2028"} {
		values = append(values, slog.StringValue(text))
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 0.123, 1e6, 1e-6, 9e-7, 1e20, 1e21, -1.5, 4294967.295, math.Inf(1), math.NaN()} {
		values = append(values, slog.Float64Value(f))
	}
	for i, value := range values {
		for _, key := range []string{"k", "", `"`, "é"} {
			for _, at := range []time.Time{time.Now(), time.Unix(0, 0).UTC(), {}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
				record := slog.NewRecord(at, slog.Level(i%6-4), "decision", 0)
				record.AddAttrs(slog.String("first", "1"), slog.Attr{Key: key, Value: value}, slog.Int("last", 1))
				var got, want bytes.Buffer
				handler := jsonHandler(t, &got)
				plain := slog.Handler(slog.NewJSONHandler(&want, &slog.HandlerOptions{Level: slog.LevelDebug}))
				for range 2 {
					err, otherwise := handler.Handle(t.Context(), record.Clone()), plain.Handle(t.Context(), record)
					if got.String() != want.String() || (err == nil) != (otherwise == nil) {
						t.Fatalf("%q=%v: got %v %s\nwant %v %s", key, value, err, got.String(), otherwise, want.String())
					}
					handler, plain = handler.WithGroup("g").WithAttrs(own()), plain.WithGroup("g").WithAttrs(own())
				}
			}
		}
	}
}

func own() []slog.Attr { return []slog.Attr{slog.Int("own", 1)} }

// TestJSONLinesOfMany: lines of many goroutines are whole, and none is missing.
func TestJSONLinesOfMany(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	handler := jsonHandler(t, &out)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 1000 {
				slog.New(handler).Log(t.Context(), slog.Level(n%20/19*4), "decision", slog.Int("n", n), slog.Int("i", i))
			}
		})
	}
	all.Wait()
	if got := strings.Count(out.String(), `{"time":"`); got != 8000 || strings.Count(out.String(), "}\n") != 8000 {
		t.Errorf("%d lines", got)
	}
}
