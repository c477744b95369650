package main

// transitions are the lines of the transition table. The model, which runs on
// the table, notices the loss of each.
func transitions() []mutant {
	of := func(what string, promise int, file, old, with, scenario string) mutant {
		test := "TestScenariosKeepEveryPromise/" + scenario
		return mutant{"model: " + what, promise, "internal/transition/" + file, old, with, "internal/model", []string{test}, ""}
	}
	return []mutant{
		of("a settlement names the record's fence", 1, "verbs.go", ", rec.Fence != fence:", ":", "rerun"),
		of("a renewal names the record's fence", 1, "verbs.go", " && rec.Fence == fence\n", "\n", "refuse"),
		of("only what has expired is swept", 1, "record.go", "{ return Reached(now, expires) }", "{ return true }", "refuse"),
		of("a claim is taken over only when it has lapsed", 1, "verbs.go", "r.State == Claimed && r.Lapsed", "r.State == Claimed", "reconcile"),
		of("only the owner repeats a claim", 1, "verbs.go", "!rec.Lapsed && sameOwner:", "!rec.Lapsed:", "refuse"),
		of("a holder relies on a tenth less than its lease", 9, "record.go", "return lease - lease/10", "return lease", "clocks"),
		of("what is cancelled is remembered", 3, "verbs.go", "case to == Released:", "case to == Released, to == Cancelled:", "operator"),
		of("a request for something else is refused", 6, "decision.go", "case !m.Asked:", "case false:", "mismatch"),
	}
}

// protocol are the guard's steps, which the model has written again: it notices
// the loss of each as well.
func protocol() []mutant {
	of := func(what string, promise int, file, old, with, scenario string) mutant {
		test := "TestScenariosKeepEveryPromise/" + scenario
		return mutant{"model: " + what, promise, "internal/model/" + file, old, with, "internal/model", []string{test}, ""}
	}
	return []mutant{
		of("a lease is trusted from before it was asked for", 9, "host.go", "- spent - int64(age))", "- spent)", "refuse"),
		of("of a claim that a late copy won, what is left is trusted", 9, "host.go", "int64(m.lease) - int64(left)", "int64(0)", "refuse"),
		of("an outcome is recorded before its reply", 7, "work.go",
			"	case h.done:\n		m.settles(s, i, transition.Completed, emit)\n",
			"	case h.done:\n		emit(step{next: *s, who: i, breach: h.saysDone()})\n		m.settles(s, i, transition.Completed, emit)\n", "refuse"),
		of("without a claim, nothing is executed", 10, "host.go",
			"	case h.verb == claim && h.role == client:\n		// The caller hears",
			"	case h.verb == claim && h.role == client:\n		h.hush()\n		h.phase, h.trust = working, m.lease\n		return\n		// The caller hears", "refuse"),
		of("the scope is part of the digest", 5, "store.go", "&s.records[msg.intent]", "&s.records[0]", "scopes"),
		of("the downstream system refuses a stale fence", 1, "work.go", "m.downstream && h.fence < w.downstream", "m.downstream && h.fence == 0", "rerun"),
		of("business rows and outcome are one commit", 4, "transaction.go", "	w.effects++\n	s.log(&won)", "	s.log(&won)", "transaction"),
		of("after a lost commit, the claim waits for the first transaction's end", 4, "transaction.go",
			"s.loose[j].verb == commit && s.loose[j].intent == intent", "s.loose[j].verb == commit && s.loose[j].intent > intent", "transaction"),
		of("only so many wait for a twin", 8, "decide.go", "if waiting >= m.waiters {", "if waiting >= maxHosts {", "waiters"),
	}
}
