package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/semel-dev/semel"
)

type (
	storeOperation = operation[call, reply]
	guardOperation = operation[wish, word]
	storeTaker     = recorder[call, reply]
	guardTaker     = recorder[wish, word]
)

// holder received a fence.
type holder struct {
	key     int
	owner   string
	attempt int
	claimed int64
}

// gift is one fence, which was given between two instants.
type gift struct {
	fence         semel.Fence
	asked, showed int64
}

// checkFences returns where, over all intents of a store, a fence was given twice
// or did not grow: a fence that an answer showed must be smaller than every one
// that was asked for afterwards.
func checkFences(steps []storeOperation) (wrong []string) {
	type claimer struct {
		key   int
		owner string
	}
	asked := map[claimer]int64{} // the first claim of an owner
	for _, s := range steps {
		who := claimer{s.Call.Key, s.Call.Owner}
		if first, known := asked[who]; s.Call.Verb == claim && (!known || s.Called < first) {
			asked[who] = s.Called
		}
	}
	holders, gifts := map[semel.Fence]holder{}, map[semel.Fence]gift{}
	for _, s := range steps {
		if s.Reply == nil || s.Reply.Seen == nil {
			continue
		}
		r := s.Reply.Seen
		h := holder{s.Call.Key, r.Owner, r.Attempt, r.Claimed}
		if other, known := holders[r.Fence]; known && other != h {
			wrong = append(wrong, fmt.Sprintf("fence %d was given twice: to %+v and to %+v", r.Fence, other, h))
		}
		holders[r.Fence] = h
		g, known := gifts[r.Fence]
		if !known || s.Ended < g.showed {
			gifts[r.Fence] = gift{r.Fence, asked[claimer{s.Call.Key, r.Owner}], s.Ended}
		}
	}
	return append(wrong, checkGrowth(gifts)...)
}

// checkGrowth walks through the fences by when they were asked for, with the
// greatest that was shown before.
func checkGrowth(gifts map[semel.Fence]gift) (wrong []string) {
	byAsked, byShowed := make([]gift, 0, len(gifts)), make([]gift, 0, len(gifts))
	for _, g := range gifts {
		byAsked, byShowed = append(byAsked, g), append(byShowed, g)
	}
	slices.SortFunc(byAsked, func(a, b gift) int { return cmp.Compare(a.asked, b.asked) })
	slices.SortFunc(byShowed, func(a, b gift) int { return cmp.Compare(a.showed, b.showed) })
	var greatest gift
	next := 0
	for _, g := range byAsked {
		for ; next < len(byShowed) && byShowed[next].showed < g.asked; next++ {
			if byShowed[next].fence > greatest.fence {
				greatest = byShowed[next]
			}
		}
		if g.fence < greatest.fence {
			wrong = append(wrong, fmt.Sprintf("fence %d was given after %d had been shown: asked for at %d ns, shown at %d ns",
				g.fence, greatest.fence, g.asked, greatest.showed))
		}
	}
	return wrong
}
