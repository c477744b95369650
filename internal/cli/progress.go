package cli

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// ProgressBar shows long work on a terminal, and nothing elsewhere.
type ProgressBar struct {
	writer  progress.Writer
	tracker *progress.Tracker
	done    chan struct{}
}

// StartProgress starts the display; a total of 0 means that the amount is unknown.
func StartProgress(p *Process, what string, total int) *ProgressBar {
	bar := &ProgressBar{done: make(chan struct{})}
	if !IsTerminal(p.Stderr) {
		close(bar.done)
		return bar
	}
	bar.writer = progress.NewWriter()
	bar.writer.SetOutputWriter(p.Stderr)
	bar.writer.SetUpdateFrequency(100 * time.Millisecond)
	bar.tracker = &progress.Tracker{Message: what, Total: int64(total)}
	bar.writer.AppendTracker(bar.tracker)
	go func() {
		defer close(bar.done)
		bar.writer.Render()
	}()
	return bar
}

// Add counts n more as done.
func (b *ProgressBar) Add(n int) {
	if b.tracker != nil {
		b.tracker.Increment(int64(n))
	}
}

// Set updates the display, for work that reports its own progress.
func (b *ProgressBar) Set(done, all int, what string) {
	if b.tracker != nil {
		if what != "" {
			b.tracker.UpdateMessage(what)
		}
		b.tracker.UpdateTotal(int64(all))
		b.tracker.SetValue(int64(done))
	}
}

// Stop ends the display and waits for it.
func (b *ProgressBar) Stop() {
	if b.tracker != nil {
		b.tracker.MarkAsDone()
		b.writer.Stop()
	}
	<-b.done
}
