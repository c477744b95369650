package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
)

func listRules() []storeRule {
	return []storeRule{
		{Name: "list/newest-first", Says: "the newest claim comes first", check: listOrder, needs: needLister},
		{Name: "list/limit", Promise: 8, Says: "no more than the limit comes, and an impossible limit is refused or cut", check: listLimit, needs: needLister},
		{Name: "list/cursor", Says: "Next walks over every record exactly once", check: listCursor, needs: needLister},
		{Name: "list/bound", Promise: 8, Says: "no more records are examined than asked for, and the cursor continues there", check: listBound, needs: needLister},
		{Name: "list/filters", Promise: 5, Says: "scope, name and states select", check: listFilters, needs: needLister},
		{Name: "list/outcomes", Says: "outcomes come only when they are asked for", check: listOutcomes, needs: needLister},
		{Name: "list/expired", Promise: 2, Says: "expired records are not listed", check: listExpired, needs: needLister},
	}
}

func sweepRules() []storeRule {
	return []storeRule{
		{Name: "sweep/live", Promise: 2, Says: "sweeping removes nothing that has not expired", check: sweepLive, needs: needSweeper},
		{Name: "sweep/moved", Promise: 8, Says: "a record whose expiry was moved nearer is swept when it comes", check: sweepMoved, needs: needSweeper},
		{Name: "sweep/limit", Promise: 8, Says: "a sweep removes up to its limit; fewer means that none are left", check: sweepLimit, needs: needSweeper},
		{Name: "sweep/race", Promise: 8, Says: "several that sweep at once share the work, and remove each record once", check: sweepRace, needs: needSweeper},
		{Name: "count/records", Promise: 8, Says: "the count follows claims, releases and sweeps", check: countRecords, needs: needCounter},
	}
}

func (c *check) list(p semel.ListParams) semel.ListPage {
	c.Helper()
	lister, ok := semel.StoreAs[semel.Lister](c.Store)
	if !ok {
		c.fail("the store must still be a Lister", fmt.Sprintf("%T", c.Store), "semel.Lister")
	}
	page, err := lister.List(c.ctx, p)
	c.wantErr("List must not fail", err, nil)
	return page
}

// names are the listed names, in their order.
func (c *check) names(p semel.ListParams) []string {
	c.Helper()
	recs := c.list(p).Records
	names := make([]string, len(recs))
	for i := range recs {
		names[i] = recs[i].Name
	}
	return names
}

func (c *check) claimNames(names ...string) {
	c.Helper()
	for _, name := range names {
		c.wins("an absent intent must be won", c.params(name))
	}
}

func listOrder(c *check) {
	c.equal("an empty store must list nothing", c.names(semel.ListParams{}), []string{})
	c.claimNames("a", "b", "c")
	c.equal("the greatest fence must come first", c.names(semel.ListParams{}), []string{"c", "b", "a"})
	c.lapse(c.params("a").Digest)
	former := c.lookup(c.params("a").Digest)
	c.wins("a lapsed claim must be won by taking it over", takingOver(former.Fence, c.params("a")))
	c.equal("a takeover must come first", c.names(semel.ListParams{}), []string{"a", "c", "b"})
	for _, rec := range c.list(semel.ListParams{}).Records {
		c.equal("List must show what Lookup shows", rec, c.lookup(rec.Digest))
	}
}

func listLimit(c *check) {
	c.claimNames("a", "b", "c", "d", "e")
	c.equal("no more than the limit must come", c.names(semel.ListParams{Limit: 2}), []string{"e", "d"})
	c.equal("zero must mean the greatest limit", c.names(semel.ListParams{}), []string{"e", "d", "c", "b", "a"})
	lister, _ := semel.StoreAs[semel.Lister](c.Store)
	for _, limit := range []int{-1, semel.MaxListLimit + 1} {
		if page, err := lister.List(c.ctx, semel.ListParams{Limit: limit}); err == nil {
			c.fail("an impossible limit must be refused", len(page.Records), "an error")
		}
	}
	for _, examine := range []int{-1, semel.MaxListExamined + 1} {
		if page, err := lister.List(c.ctx, semel.ListParams{Examine: examine}); err == nil {
			c.fail("an impossible bound must be refused", page.Examined, "an error")
		}
	}
}

func listCursor(c *check) {
	want := make([]string, 0, 23)
	for i := range cap(want) {
		name := fmt.Sprint(i)
		c.claimNames(name)
		want = append([]string{name}, want...)
	}
	var got []string
	p := semel.ListParams{Limit: 5}
	for range want {
		page := c.list(p)
		for _, rec := range page.Records {
			got = append(got, rec.Name)
		}
		if p.After = page.Next; p.After == "" {
			break
		}
	}
	c.equal("the cursor must walk over every record exactly once", got, want)
	c.equal("a walk must end", p.After, "")
	lister, _ := semel.StoreAs[semel.Lister](c.Store)
	for _, cursor := range []string{"x", "-1", "1.x", "18446744073709551616", " "} {
		_, err := lister.List(c.ctx, semel.ListParams{After: cursor})
		c.wantErr(fmt.Sprintf("%q is not a cursor", cursor), err, semel.ErrCursor)
	}
}

// listBound looks for the oldest record among many that the filter leaves out.
func listBound(c *check) {
	const records, examine = 60, 10
	c.claimNames("wanted")
	for i := range records - 1 {
		c.claimNames(fmt.Sprint(i))
	}
	var got []string
	p := semel.ListParams{Name: "wanted", Examine: examine}
	for examined := 0; ; {
		page := c.list(p)
		most := examine
		if page.Unordered {
			most = records / 2 // such a store may finish the part that it reads
		}
		if page.Examined > most {
			c.fail("List must not look at more records than it may", page.Examined, most)
		}
		for _, rec := range page.Records {
			got = append(got, rec.Name)
		}
		examined += page.Examined
		if p.After = page.Next; p.After == "" {
			break
		}
		if examined > 2*records {
			c.fail("a walk must end", examined, records)
		}
	}
	c.equal("the walk must find what is there", slices.Compact(got), []string{"wanted"})
	page := c.list(semel.ListParams{Limit: 2})
	if page.Examined < 2 || page.Next == "" {
		c.fail("a page that is full must say where to continue", page, "a cursor")
	}
}

func listFilters(c *check) {
	for _, s := range []string{"s1", "s2"} {
		for _, name := range []string{"claimed", "completed", "unknown", "cancelled"} {
			p := c.params(name)
			p.Scope = s
			p.Digest = semel.Key{Scope: s, Name: name}.Digest()
			rec := c.wins("an absent intent must be won", p)
			if to, ok := settlements()[name]; ok {
				c.settle("a held claim must be settled", rec, to, nil)
			}
		}
	}
	for _, want := range []struct {
		why   string
		p     semel.ListParams
		names []string
	}{
		{"a scope", semel.ListParams{Scope: "s1"}, []string{"cancelled", "unknown", "completed", "claimed"}},
		{"no such scope", semel.ListParams{Scope: "S1"}, []string{}},
		{"a name", semel.ListParams{Name: "unknown"}, []string{"unknown", "unknown"}},
		{"scope and name", semel.ListParams{Scope: "s2", Name: "unknown"}, []string{"unknown"}},
		{"a state", semel.ListParams{States: []semel.State{semel.StateCompleted}}, []string{"completed", "completed"}},
		{
			"states, scope and limit",
			semel.ListParams{Scope: "s2", Limit: 2, States: []semel.State{semel.StateClaimed, semel.StateUnknown, semel.StateCancelled}},
			[]string{"cancelled", "unknown"},
		},
	} {
		c.equal("the filter must select "+want.why, c.names(want.p), want.names)
	}
	c.Advance(lease)
	c.equal("a lapsed claim must count as claimed",
		c.names(semel.ListParams{States: []semel.State{semel.StateClaimed}}), []string{"claimed", "claimed"})
}

func listOutcomes(c *check) {
	rec := c.wins("an absent intent must be won", c.params("a"))
	c.settle("a held claim must be settled", rec, completed("answer"), nil)
	if recs := c.list(semel.ListParams{}).Records; len(recs) != 1 || recs[0].Outcome != nil || !recs[0].Kept {
		c.fail("outcomes must not come unless asked for", recs, "one record, kept, without outcome")
	}
	if recs := c.list(semel.ListParams{Outcomes: true}).Records; len(recs) != 1 || string(recs[0].Outcome) != "answer" {
		c.fail("outcomes must come when asked for", recs, "one record with its outcome")
	}
}

func listExpired(c *check) {
	c.claimNames("a")
	c.Advance(retention)
	c.claimNames("b")
	c.Advance(lease)
	c.equal("expired records must not be listed", c.names(semel.ListParams{}), []string{"b"})
}

func sweepLive(c *check) {
	held := c.held()
	c.sweep()
	for name, rec := range held {
		c.equal("sweeping must not remove or change live records: "+name, c.lookup(rec.Digest), rec)
	}
	c.Advance(lease)
	c.sweep()
	for name, rec := range held {
		c.equal("sweeping must not remove lapsed or settled records: "+name, c.lookup(rec.Digest), rec)
	}
}

func sweepMoved(c *check) {
	const soon = 10 * time.Minute
	for name, move := range map[string]func(semel.Record) error{
		"settled": func(rec semel.Record) error {
			to := completed("answer")
			to.Retention = soon
			return c.Store.Settle(c.ctx, rec.Digest, rec.Fence, to)
		},
		"renewed": func(rec semel.Record) error {
			return c.Store.Renew(c.ctx, rec.Digest, rec.Fence, soon-time.Minute)
		},
		"renewed after a sweep met it": func(rec semel.Record) error {
			c.Advance(2 * time.Minute) // the retention has passed, the lease has not
			c.sweepOnce(10)
			return c.Store.Renew(c.ctx, rec.Digest, rec.Fence, time.Minute)
		},
		"taken over": func(rec semel.Record) error {
			p := takingOver(rec.Fence, by("second", c.params(rec.Name)))
			p.Lease, p.Retention = soon-time.Minute, time.Minute
			_, _, err := c.Store.Claim(c.ctx, p)
			return err
		},
	} {
		p := c.params(name)
		p.Retention = time.Minute
		if name == "taken over" {
			p.Lease, p.Retention = time.Minute, retention
		}
		rec := c.wins("an absent intent must be won", p)
		if name == "taken over" {
			c.lapse(p.Digest)
		}
		c.wantErr("a held claim must be "+name, move(rec), nil)
		c.Advance(soon)
		swept := "a record must be swept when it expires by its latest expiry: " + name
		if n := c.sweepOnce(10); !c.count(swept, 0) { // one that counts may have swept on its own before
			c.equal(swept, n, 1)
		}
	}
}

func sweepLimit(c *check) {
	for i := range 10 {
		p := c.params(fmt.Sprint(i))
		p.Digest = semel.Digest{31: byte(i)} // neighbours in a store that keeps digests in order
		c.wins("an absent intent must be won", p)
	}
	c.Advance(lease + retention)
	live := c.wins("an absent intent must be won", c.params("live"))
	for range 20 {
		n := c.sweepOnce(3)
		if n > 3 || n < 0 {
			c.fail("a sweep must not remove more than its limit", n, "at most 3")
		}
		if n < 3 {
			break
		}
	}
	c.count("fewer than the limit must mean that none are left", 1)
	c.equal("sweeping must not remove live records", c.lookup(live.Digest), live)
}

func sweepRace(c *check) {
	const dead, limit = 120, 15
	for i := range dead {
		c.wins("an absent intent must be won", c.params(fmt.Sprint(i)))
	}
	c.Advance(lease + retention)
	live := c.wins("an absent intent must be won", c.params("live"))
	sweeper, _ := semel.StoreAs[semel.Sweeper](c.Store)
	var errs [4]error
	var removed atomic.Int64
	race(len(errs), func(i int) {
		for n := limit; n == limit && errs[i] == nil; {
			n, errs[i] = sweeper.Sweep(c.ctx, limit)
			removed.Add(int64(n))
		}
	})
	c.wantErr("Sweep must not fail while others sweep", errors.Join(errs[:]...), nil)
	for n := limit; n == limit; { // what another had in hand
		n = c.sweepOnce(limit)
		removed.Add(int64(n))
	}
	if _, ok := semel.StoreAs[semel.Counter](c.Store); !ok { // others may have swept on their own
		c.equal("every expired record must be removed once", removed.Load(), int64(dead))
	}
	c.equal("sweeping must not remove live records", c.lookup(live.Digest), live)
}

func countRecords(c *check) {
	c.count("an empty store must hold no records", 0)
	c.claimNames("a", "b", "c")
	c.loses("a live claim must not be won", by("second", c.params("a")), c.lookup(c.params("a").Digest))
	c.count("every claimed intent must be counted once", 3)
	c.settle("a held claim must be released", c.lookup(c.params("a").Digest), released(), nil)
	c.count("a released intent must not be counted", 2)
	c.settle("a held claim must be settled", c.lookup(c.params("b").Digest), completed("answer"), nil)
	c.count("a settled intent must still be counted", 2)
	if _, ok := semel.StoreAs[semel.Sweeper](c.Store); ok {
		c.Advance(lease + retention)
		c.sweep()
		c.count("swept records must not be counted", 0)
	}
}
