package forms

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"

	"github.com/semel-dev/semel/internal/formguard"
)

// maxDrafts bounds the drafts that are remembered: twice as many, with half a KiB each at most.
const maxDrafts = 2048

// drafts remembers how forms looked when they were sent last, by token, until many
// others have come. It serves the log alone: what is one intent, the keys say.
type drafts struct {
	seed maphash.Seed
	told seenOnce // by route and field

	mu         sync.Mutex // guards the fields below
	young, old map[string][]uint64
}

// swap remembers a form, and returns what it looked like before; nil where it was not sent, or
// that is forgotten.
func (d *drafts) swap(token string, sums []uint64) (before []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, known := d.young[token]
	if !known {
		before = d.old[token]
	}
	if len(d.young) >= maxDrafts && !known {
		d.young, d.old = nil, d.young
	}
	if d.young == nil {
		d.young = map[string][]uint64{}
	}
	d.young[token] = sums
	return before
}

// compare logs, once for a route and field, that a form differs in this field alone from the
// one that was sent with its token before: a person has edited it, or the page has.
func (f *Forms) compare(ctx context.Context, route, token string, outline *formguard.Outline) {
	field, differs := outline.Differs(f.drafts.swap(token, outline.Sums))
	if !differs {
		return
	}
	if first, _ := f.drafts.told.first(route + " " + field); first {
		f.config.Log.LogAttrs(ctx, slog.LevelInfo, "a form was sent again with another value of one field, and counts as new (if people do not write the field, list it under ignore in the rule's form)",
			slog.String("route", route), slog.String("field", field))
	}
}
