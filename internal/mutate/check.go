package main

// checks are the mechanisms of semel check. Each names one of the promises C1 to
// C5, and counts for the one of the ten that it resembles most.
func checks() []mutant {
	of := func(mechanism string, promise int, file, old, with, pkg string, tests ...string) mutant {
		return mutant{"check: " + mechanism, promise, file, old, with, pkg, tests, ""}
	}
	return []mutant{
		of("effects that were counted are looked at (C1)", 3, "check/effects.go",
			"case !seen.disagree() && seen.counts[0] > most:", "case false:", "check", "TestRunTellsProtectedFromUnprotected"),
		of("a run without a counter does not pass (C1)", 3, "check/effects.go",
			"	if len(p.run.config.Counters) == 0 {\n		return uncounted()\n	}\n	if since.err", "	if len(p.run.config.Counters) == 0 {\n		return passed()\n	}\n	if since.err",
			"check", "TestRunWithoutCounter"),
		of("what must hold and was not judged is not fine (C1)", 3, "check/report.go",
			" || one.Verdict == Incomplete && one.Level == LevelMust", "", "check", "TestRunWithoutCounter"),
		of("an id is compared, unlike a date (C2)", 2, "check/compare.go",
			"if !one.volatile(other) || len(sample()) < sampleRequests {", "if len(sample()) < sampleRequests {", "check", "TestSameBody"),
		of("a check sends no more than it announced (C3)", 8, "check/probe.go",
			"if p.sent >= p.allowed {", "if p.allowed < 0 {", "check", "TestBudgetIsEnforced"),
		of("a run sends no more than it announced (C3)", 8, "check/session.go",
			"case s.sent >= s.allowed:", "case s.allowed < 0:", "check", "TestBudgetIsEnforced"),
		of("a lost request is not sent again by the client (C3)", 3, "internal/check/wire/client.go",
			"	if answer != nil {\n		answer.Took", "	if errors.Is(err, ErrCut) && m.Fault == None {\n		return c.Do(ctx, r, &Manner{Fault: HangUp})\n	}\n	if answer != nil {\n		answer.Took",
			"internal/check/wire", "TestDoNeverSendsTwice"),
		of("a report has no secrets (C4)", 5, "check/plan.go", "	mask.report(report)\n", "", "check", "TestReportHasNoSecrets"),
		of("an error has no secrets (C4)", 5, "check/plan.go", "shortened(mask.text(err.Error()), maxReason)", "shortened(err.Error(), maxReason)", "check", "TestErrorHasNoSecrets"),
		of("only this machine is tried without a yes (C5)", 5, "cmd/semel/check_hosts.go",
			`	return ip != nil && ip.IsLoopback()`, `	return ip != nil`, "cmd/semel", "TestIsLoopback"),
	}
}
