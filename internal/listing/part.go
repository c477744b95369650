package listing

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
)

// Part is the cursor of a store that keeps no order: it goes through its
// records in parts, and returns each part newest first.
type Part struct {
	At     [2]uint64   // where the part begins, in the store's own terms
	Before semel.Fence // only fences below this one are left of it, when not zero
}

// ParsePart reads a cursor. Empty means the first part.
func ParsePart(cursor string) (Part, error) {
	if cursor == "" {
		return Part{}, nil
	}
	var n [3]uint64
	words := strings.Split(cursor, ".")
	if len(words) != len(n) {
		return Part{}, fmt.Errorf("%w: %q is not three numbers", semel.ErrCursor, cursor)
	}
	for i, word := range words {
		var err error
		if n[i], err = strconv.ParseUint(word, 10, 64); err != nil {
			return Part{}, fmt.Errorf("%w: %q is not three numbers", semel.ErrCursor, cursor)
		}
	}
	return Part{At: [2]uint64{n[0], n[1]}, Before: semel.Fence(n[2])}, nil
}

// String returns the cursor.
func (p Part) String() string { return fmt.Sprintf("%d.%d.%d", p.At[0], p.At[1], p.Before) }

// Newest collects the records with the greatest fences that pass the filters,
// each once, in memory bounded by twice the limit.
type Newest struct {
	Params  *semel.ListParams
	Before  semel.Fence // only fences below this one, when not zero
	floor   semel.Fence // fences up to this one are not among the newest
	left    bool        // some were left out
	records []semel.Record
	looked  []semel.Fence // of everything that was looked at; 0 for what is not a record
}

// Look counts what was looked at. f is 0 for what is not a record.
func (n *Newest) Look(f semel.Fence) { n.looked = append(n.looked, f) }

// Wants reports whether a record with these fields may be among the newest.
func (n *Newest) Wants(f semel.Fence, scope, name string, state semel.State) bool {
	p := n.Params
	if (n.Before != 0 && f >= n.Before) || (p.Scope != "" && scope != p.Scope) || (p.Name != "" && name != p.Name) ||
		(len(p.States) > 0 && !slices.Contains(p.States, state)) {
		return false
	}
	n.left = n.left || f <= n.floor
	return f > n.floor
}

// Add takes a record that is wanted.
func (n *Newest) Add(rec semel.Record) {
	if n.records = append(n.records, rec); len(n.records) == 2*n.Params.Limit {
		n.trim()
		if len(n.records) == n.Params.Limit {
			n.floor = n.records[len(n.records)-1].Fence
		}
	}
}

func (n *Newest) trim() {
	slices.SortFunc(n.records, func(a, b semel.Record) int { return cmp.Compare(b.Fence, a.Fence) })
	n.records = slices.CompactFunc(n.records, func(a, b semel.Record) bool { return a.Fence == b.Fence })
	if len(n.records) > n.Params.Limit {
		n.left, n.records = true, n.records[:n.Params.Limit]
	}
}

// Page returns the newest records. begin is the start of this part, next that of
// the one after it, or nil when this was the last. A walk looks at a part once for each of its pages, and counts each
// record as examined on one of them.
func (n *Newest) Page(begin Part, next *Part) semel.ListPage {
	n.trim()
	page := semel.ListPage{Records: n.records, Unordered: begin.At != [2]uint64{} || next != nil}
	var last semel.Fence // those below it belong to the next page
	switch {
	case n.left:
		last = n.records[len(n.records)-1].Fence
		page.Next = Part{At: begin.At, Before: last}.String()
	case next != nil:
		page.Next = next.String()
	}
	for _, f := range n.looked {
		if f >= last && (n.Before == 0 || f < n.Before) {
			page.Examined++
		}
	}
	return page
}
