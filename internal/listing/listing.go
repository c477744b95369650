// Package listing implements List for stores that keep records in the order of
// their fences: the cursor, and the assembly of a page.
package listing

import (
	"fmt"
	"math"
	"strconv"

	"github.com/semel-dev/semel"
)

// Before reads a cursor: only fences below it are left. Empty means all.
func Before(cursor string) (semel.Fence, error) {
	if cursor == "" {
		return math.MaxInt64, nil
	}
	f, err := strconv.ParseUint(cursor, 10, 63)
	if err != nil || f == 0 {
		return 0, fmt.Errorf("%w: %q is not a number", semel.ErrCursor, cursor)
	}
	return semel.Fence(f), nil
}

// Cursor continues after the record with this fence.
func Cursor(f semel.Fence) string { return strconv.FormatUint(uint64(f), 10) }

// Table is a store's table in the order of fences.
type Table struct {
	// Count looks at up to n rows with fences below before and from lowest on,
	// the greatest first, and returns how many there are and the last fence.
	Count func(before, lowest semel.Fence, n int) (count int, last semel.Fence, err error)
	// Read returns up to p.Limit records that pass the filters, with fences
	// below before and from lowest on, the greatest first.
	Read func(p *semel.ListParams, before, lowest semel.Fence) ([]semel.Record, error)
}

// List is [semel.Lister]'s List on such a table (promise 8): it first finds the
// last row that it may examine, and reads no further.
func (t Table) List(p *semel.ListParams) (page semel.ListPage, err error) {
	if err := p.Validate(); err != nil {
		return page, err
	}
	before, err := Before(p.After)
	if err != nil {
		return page, err
	}
	// A page that most records pass is full after a few; most pages are.
	few := min(p.Examine, 4*p.Limit)
	page, err = t.window(p, before, few)
	if err == nil && len(page.Records) < p.Limit && page.Next != "" && few < p.Examine {
		page, err = t.window(p, before, p.Examine)
	}
	return page, err
}

// window is List over at most n rows.
func (t Table) window(p *semel.ListParams, before semel.Fence, n int) (page semel.ListPage, err error) {
	count, last, err := t.Count(before, 0, n)
	if err != nil || count == 0 {
		return page, err
	}
	page.Records, err = t.Read(p, before, last)
	if err != nil {
		return semel.ListPage{}, err
	}
	page.Examined = count
	if count == n {
		page.Next = Cursor(last)
	}
	if have := len(page.Records); have == p.Limit && page.Records[have-1].Fence > last {
		full := page.Records[have-1].Fence
		page.Next = Cursor(full)
		if page.Examined, _, err = t.Count(before, full, n); err != nil {
			return semel.ListPage{}, err
		}
	}
	return page, nil
}
