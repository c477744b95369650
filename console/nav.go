package console

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
)

// navigation leads to the parts of the console that this process has data for.
type navigation struct {
	Service string
	Groups  []group
}

type group struct {
	Name  string
	Parts []part
}

type part struct {
	Path, Name string
	Count      string // of the records that wait there; empty for none
}

// navigation returns the links of every page. Pages that it leaves out still have their addresses.
func (c *Console) navigation(ctx context.Context, host string) navigation {
	n := navigation{Service: cmp.Or(c.service(), host)}
	var waiting pending
	if p := c.recentPending(ctx); p != nil {
		waiting = *p
	}
	add := func(to string, parts ...part) {
		if len(parts) > 0 {
			n.Groups = append(n.Groups, group{to, parts})
		}
	}
	work := []part{{"unknown", "Unknown", atLeast(waiting.Needs, waiting.More)}}
	if !c.guard.HidesKeys() {
		work = append(work, part{"flows", "Flows", atLeast(waiting.Parked, waiting.More)}, part{"quarantine", "Quarantine", atLeast(waiting.Messages, waiting.More)})
	}
	setup := []part{}
	if len(c.routes) > 0 || c.rules != nil {
		setup = append(setup, part{"rules", "Rules", ""})
	}
	if c.database != nil {
		work = append(work, part{"outbox", "Outbox", ""})
		setup = append(setup, part{"duplicates", "Duplicates", ""})
	}
	past := []part{{"records", "Records", ""}}
	if c.kept != nil {
		past = append(past, part{"log", "Log", ""})
	}
	if len(c.settings) > 0 {
		setup = append(setup, part{"settings", "Settings", ""})
	}
	add("Work", work...)
	add("History", append(past, part{"audit", "Audit", ""})...)
	add("Setup", setup...)
	return n
}

// atLeast writes a count, with a plus sign where there may be more; nothing for none.
func atLeast(n int, more bool) string {
	switch {
	case n == 0:
		return ""
	case more:
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}

// service names the application that a gateway is in front of; empty where there is none.
func (c *Console) service() string {
	for _, setting := range c.settings {
		if setting.Name == "Upstream" {
			if u, err := url.Parse(setting.Value); err == nil {
				return u.Host
			}
		}
	}
	return ""
}
