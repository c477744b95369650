package dedupe

import "time"

// writtenPerSecond is a cautious rate at which a database changes rows and writes their audit.
const writtenPerSecond = 5_000

// Estimate says how much work a plan is.
type Estimate struct {
	// Batches are transactions, as few as can be; Locked are the rows that the usual one of them locks.
	Batches, Locked int64
	// Written are rows that change, and those of the audit.
	Written int64
	// Time is the work divided by 5,000 rows a second.
	Time time.Duration
}

// Estimate estimates the work from the rows that the plan counted, without the groups that wait for answers: of their children, it
// takes an equal share for each loser. Children of children are not among them.
func (p *Plan) Estimate() Estimate {
	losers := p.Losers - p.AskedLosers
	changed := losers + p.Groups - p.AskedGroups
	for _, c := range p.Children {
		changed += max(c.Rows, 0) * losers / max(p.Losers, 1)
	}
	e := Estimate{Batches: (losers + mostBatch - 1) / mostBatch, Written: 2 * changed}
	if e.Batches > 0 {
		e.Locked = changed / e.Batches
	}
	e.Time = time.Duration(e.Written) * time.Second / writtenPerSecond
	return e
}
