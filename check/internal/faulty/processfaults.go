package faulty

import (
	"net/http"
	"time"

	"github.com/semel-dev/semel/check"
)

// processFaults mishandle the end of processes and of records.
func processFaults() []Service {
	return []Service{
		fault("forgotten at a restart", "The records are in a map of the process: each deployment and each further instance starts without any.",
			by("OP-01", "OP-02"), recipe{
				behaviour: effectFirst(),
				decisions: func(d *Decisions) { d.Forgetful = true },
				process:   mortal,
			}.start),
		fault("the dead hold their locks", "The lock lives as long as the record: after a crash, 409 says for a day that the request is running.",
			by("OP-03"), recipe{
				behaviour: unhurried(),
				decisions: func(d *Decisions) { d.Wait, d.Orphaned = 0, func(*Record) bool { return false } },
				process:   mortal,
			}.start),
		fault("an interrupted request is run again", "A claim without a holder is taken over, although its work may have been done.",
			by("OP-02"), recipe{
				decisions: func(d *Decisions) {
					d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
						if rec := m.Look(id); rec != nil && rec.orphaned() {
							return m.insertOver(life, id, asked), true
						}
						return m.Claim(life, id, asked)
					}
				},
				behaviour: effectFirst(),
				process:   mortal,
			}.start),
		fault("shorter than documented", "The manual says a day, but the cache evicts earlier: within the retention a retry runs.",
			by("EXP-01"), recipe{
				decisions: func(d *Decisions) { d.Retention = retention / 4 },
				change:    expiring,
			}.start),
		fault("the old answer, and a new effect", "The lock expires before the answer: the order is made again, and the caller gets the number of the old one.",
			by("EXP-02"), recipe{
				decisions: func(d *Decisions) {
					d.Retention = retention
					remembered := &Memory{retention: time.Hour}
					right := d.Settle
					d.Settle = func(door *Door, r *http.Request, rec *Record, got *Answer) {
						if old, mine := remembered.Claim(nil, rec.id, rec.asked); !mine && old.answer != nil {
							*got = *old.answer
						} else if mine {
							remembered.Settle(old, got.kept())
						}
						right(door, r, rec, got)
					}
				},
				change: expiring,
			}.start),
	}
}

// retention is short, so that records expire during a test.
const retention = 4 * time.Second

func expiring(c *check.Config) {
	c.Retention = retention
	c.Only = []string{"BASIC-01", "BASIC-02", "EXP"}
}

// mortal services recover at once, or never.
func mortal(c *check.Config, p *Process) {
	c.Restart, c.Kill, c.Recovery = p.Restart, p.Kill, 500*time.Millisecond
}
