package main

// verdicts hold operators to what they saw (promise 3).
func verdicts() []mutant {
	return []mutant{
		removed("an operator's fence is compared", 3, "operator/operator.go",
			"	if refused := unresolvable(entry.Act, &rec, seen); refused != nil {\n		return rec, refused\n	}\n	entry.Before",
			"	seen = rec.Fence\n	if refused := unresolvable(entry.Act, &rec, seen); refused != nil {\n		return rec, refused\n	}\n	entry.Before",
			".", "TestVerdictOnAnotherAttempt"),
		removed("an operator's fence is compared in the store", 3, "seize.go",
			"		s = a.ask(before.Fence, a.start)\n",
			"		if s = a.ask(before.Fence, a.start); s.err == nil && !s.won {\n			s = a.ask(s.rec.Fence, a.start)\n		}\n",
			".", "TestVerdictRacesWithATakeover"),
		removed("an operator who saw it running settles nothing", 3, "internal/adminapi/seen.go",
			"l.fence == 0 || l.state == semel.StateUnknown", "l.fence != 0 || l.state == semel.StateUnknown",
			"internal/adminapi", "TestVerdictOnWhatWasRunning"),
		removed("a verdict takes effect after its entry in the audit trail", 3, "operator/operator.go",
			"if err := r.writeAudit(ctx, entry, rec); err != nil {", "if _ = r.writeAudit(ctx, entry, rec); err != nil {",
			".", "TestNoVerdictWithoutAnEntry"),
		removed("what its holder cancels leaves a tombstone", 3, "claim.go",
			"return c.settle(Settlement{State: StateCancelled, Note: note}, true)", "return c.settle(Settlement{State: StateReleased, Note: note}, true)",
			".", "TestClaimCancel"),
	}
}
