package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/semel-dev/semel/internal/transition"
)

func requestNames() [6]string {
	return [...]string{claim: "claim", lookup: "look-up", renew: "renewal", settle: "settlement", commit: "commit"}
}

func stateNames() [6]string {
	return [...]string{
		transition.Absent: "absent", transition.Claimed: "claimed", transition.Completed: "completed",
		transition.Released: "released", transition.Unknown: "unknown", transition.Cancelled: "cancelled",
	}
}

func hostName(i int) string { return "ABC"[i : i+1] }

func hostNames(set uint8) string {
	var names []string
	for i := range maxHosts {
		if set&(1<<i) != 0 {
			names = append(names, hostName(i))
		}
	}
	return strings.Join(names, " and ")
}

func intentName(i uint8) string { return fmt.Sprint(i + 1) }

// beginning describes the start of an attempt.
func (m *model) beginning(h *host) string {
	var s string
	switch h.role {
	case client:
		s = "asks for the claim"
	case canceller:
		s = "looks the record up, to cancel it for an operator"
	case completer:
		s = "looks the record up, to resolve it as completed for an operator"
	case releaser:
		s = "looks the record up, to resolve it as released for an operator"
	case transactor:
		s = "begins, in transaction mode"
	case undoer:
	}
	if m.intents > 1 {
		s += ", intent " + intentName(h.intent)
	}
	if m.requests > 1 {
		s += ", request " + string(rune('x'+h.asked-1))
	}
	return s
}

// printPath writes the path as a numbered list: who, what, and what the store and
// the holders have afterwards.
func (m *model) printPath(w io.Writer, b breach, path []step) {
	say(w, "  promise %d is broken: %s\n", b.promise, b.says)
	before := ""
	for i := range path {
		st := &path[i]
		who := "store"
		switch {
		case st.who >= 0:
			who = "host " + hostName(st.who)
		case st.who == theNetwork:
			who = "net"
		}
		say(w, "  %3d. %-6s  %s%s\n", i+1, who, st.says, st.result)
		if after := m.describe(&st.next); after != before {
			say(w, "%s", after)
			before = after
		}
	}
}

// describe prints the store and the holders at one instant.
func (m *model) describe(s *state) string {
	const indent = "               "
	var b strings.Builder
	for i := range m.intents {
		name := "record"
		if m.intents > 1 {
			name += " " + intentName(uint8(i))
		}
		fmt.Fprintf(&b, "%s| %s: %s\n", indent, name, m.describeRecord(s, &s.records[i]))
	}
	for i := range m.hosts {
		h := &s.hosts[i]
		if h.fence == 0 || h.phase == idle {
			continue
		}
		fmt.Fprintf(&b, "%s| %s: fence %d", indent, hostName(i), h.fence)
		if h.trust > 0 {
			fmt.Fprintf(&b, ", relies on it for %d ticks", h.trust)
		}
		if h.done {
			b.WriteString(", has executed")
		}
		if h.paused {
			b.WriteString(", held up")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (m *model) describeRecord(s *state, r *record) string {
	v := m.visible(r)
	if v.State == transition.Absent {
		return "absent"
	}
	var b strings.Builder
	b.WriteString(stateNames()[v.State])
	owner := "nobody"
	for i := range s.hosts {
		if h := &s.hosts[i]; h.phase != idle && h.owner == r.owner {
			owner = hostName(i)
		}
	}
	fmt.Fprintf(&b, ", fence %d of %s", r.fence, owner)
	switch left := m.deadlines(r).Lapses; {
	case v.Lapsed:
		b.WriteString(", lapsed")
	case v.State == transition.Claimed:
		fmt.Fprintf(&b, ", lapses in %d", left)
	case v.State == transition.Completed:
		fmt.Fprintf(&b, ", outcome of fence %d", r.outcome)
	}
	fmt.Fprintf(&b, ", forgotten in %d", r.expires)
	return b.String()
}
