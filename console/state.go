package console

import "github.com/semel-dev/semel/outcomelog"

// tone maps a word to one of eight states, which have a colour and a symbol each.
func tone(word string) string {
	switch word {
	case "completed", "finished", "enforced", "handled":
		return "completed"
	case "unknown", "unreadable", "doubtful", "unfinished":
		return "unknown"
	case "claimed":
		return "claimed"
	case "failed", "not enforced":
		return "failed"
	case "parked", "stopped":
		return "parked"
	case "waiting", "open", "held":
		return "waiting"
	case "released", "undone":
		return "released"
	case "cancelled", "dropped", "skipped":
		return "cancelled"
	}
	switch outcome := outcomelog.Outcome(word); meaning(outcome).class {
	case asUnknown:
		return "unknown"
	case asReplayed:
		return "completed"
	case asRan:
		switch outcome { //nolint:exhaustive // all else left an answer.
		case outcomelog.Rejected, outcomelog.Failed:
			return "failed"
		case outcomelog.Released, outcomelog.RolledBack:
			return "released"
		case outcomelog.NotStored, outcomelog.Unprotected:
			return "unknown"
		}
		return "completed"
	case asRefused:
	}
	return "cancelled"
}

// symbol returns the mark of a state. The word is always next to it.
func symbol(word string) string {
	return map[string]string{
		"completed": "✓", "unknown": "?", "claimed": "▸", "failed": "✕", "parked": "‖", "waiting": "…", "released": "↺", "cancelled": "⊘",
	}[tone(word)]
}
