package console

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
)

// The attempt is a bar with the colour of its state, and repetitions are ticks at their times. Clocks that jumped leave no line.
func TestDrawTime(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return began.Add(d) }
	repeats := func(at ...time.Duration) *operatorview.Repeats {
		r := &operatorview.Repeats{}
		for _, d := range at {
			r.Recent = append(r.Recent, operatorview.Repeat{At: operatorview.Time(after(d)), Outcome: "replayed"})
		}
		return r
	}
	settled := semel.Record{State: semel.StateUnknown, ClaimedAt: began, SettledAt: after(2 * time.Second)}
	lapsed := semel.Record{State: semel.StateClaimed, ClaimedAt: began, LeaseUntil: after(4 * time.Second), ReadAt: after(time.Hour)}
	running := semel.Record{State: semel.StateClaimed, ClaimedAt: began, LeaseUntil: after(time.Hour), ReadAt: after(3 * time.Second)}
	jumped := semel.Record{State: semel.StateUnknown, ClaimedAt: began, SettledAt: after(-time.Second)}
	for name, test := range map[string]struct {
		rec     semel.Record
		repeats *operatorview.Repeats
		want    *timeline
	}{
		"alone":    {settled, nil, &timeline{From: "2026-11-30T12:00:00.000Z", To: "2026-11-30T12:00:02.000Z", Width: 720, Tone: "unknown"}},
		"repeated": {settled, repeats(8*time.Second, time.Second), &timeline{From: "2026-11-30T12:00:00.000Z", To: "2026-11-30T12:00:08.000Z", Width: 180, Tone: "unknown", Ticks: []tick{{720, "replayed"}, {90, "replayed"}}}},
		"lapsed":   {lapsed, nil, &timeline{From: "2026-11-30T12:00:00.000Z", To: "2026-11-30T12:00:04.000Z", Width: 720, Tone: "unknown"}},
		"running":  {running, nil, &timeline{From: "2026-11-30T12:00:00.000Z", To: "2026-11-30T12:00:03.000Z", Width: 720, Tone: "claimed"}},
		"earlier":  {settled, repeats(-2 * time.Second), &timeline{From: "2026-11-30T11:59:58.000Z", To: "2026-11-30T12:00:02.000Z", X: 360, Width: 360, Tone: "unknown", Ticks: []tick{{0, "replayed"}}}},
		"jumped":   {jumped, repeats(time.Second), nil},
		"no time":  {semel.Record{State: semel.StateUnknown}, nil, nil},
	} {
		if diff := cmp.Diff(test.want, drawTime(&test.rec, test.repeats), cmp.AllowUnexported(timeline{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
