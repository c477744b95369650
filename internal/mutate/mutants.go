package main

import (
	"slices"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// The files of the transition table.
const (
	verbs     = "internal/transition/verbs.go"
	decisions = "internal/transition/decision.go"
)

// mutant is a mechanism, and how it is removed.
type mutant struct {
	mechanism string
	promise   int // of docs/guarantees.md
	file      string
	old, with string
	pkg       string   // whose tests notice, relative to the module
	tests     []string // of which at least one must fail
	server    string   // the variable of the server that the tests need, or ""
}

// removed returns a mutant that tests notice without a server.
func removed(mechanism string, promise int, file, old, with, pkg string, tests ...string) mutant {
	return mutant{mechanism, promise, file, old, with, pkg, tests, ""}
}

func mutants() []mutant {
	return slices.Concat(transitions(), protocol(), fences(), claims(), outcomes(), unknowns(), answered(), transactions(), walls(), replies(), bounds(), costs(), detached(), wires(),
		clocks(), unreachable(), formTokens(), formPages(), formVisitors(), signIns(), questions(), guards(), servers(), checks())
}

// fences are the comparisons in the stores (promise 1).
func fences() []mutant {
	settle := []string{"TestStore/settle/stale", "TestStore/settle/wrong-fence"}
	renew := []string{"TestStore/renew/stale", "TestStore/renew/wrong-fence"}
	batch := []string{"TestGroupCommit"}
	claim := []string{"TestStore/race/takeover-stale"} // no other rule comes between what a claim reads and what it writes
	of := func(store, what, file, old, with string, tests []string, server string) mutant {
		return mutant{store + ": the fence of " + what, 1, "store/" + store + "/" + file, old, with, "store/" + store, tests, server}
	}
	return []mutant{
		{"table: the fence of Settle", 1, verbs, ", rec.Fence != fence:", ":", "store/memstore", settle, ""},
		{"table: the fence of Renew", 1, verbs, " && rec.Fence == fence\n", "\n", "store/memstore", renew, ""},
		of("sqlitestore", "Settle", "internal/table/sql/settle.sql", "WHERE fence = ?1 AND", "WHERE ?1 IS NOT NULL AND", settle, ""),
		of("sqlitestore", "Settle as released", "internal/table/sql/release.sql", "fence = ?1", "?1 IS NOT NULL", settle, ""),
		of("sqlitestore", "Renew", "internal/table/sql/renew.sql", "WHERE fence = ?1 AND", "WHERE ?1 IS NOT NULL AND", renew, ""),
		of("pgstore", "Settle", "sql/settle.sql", "AND r.fence = $2::bigint", "AND $2::bigint IS NOT NULL", settle, dbserver.EnvPostgres),
		of("pgstore", "SettleBatch", "sql/settle_batch.sql", "AND r.fence + 0 = i.fence", "AND i.fence IS NOT NULL", batch, dbserver.EnvPostgres),
		of("pgstore", "Renew", "sql/renew.sql", "AND r.fence = $2::bigint", "AND $2::bigint IS NOT NULL", renew, dbserver.EnvPostgres),
		of("pgstore", "Claim", "sql/claim_again.sql", "AND r.fence = $8::bigint", "AND $8::bigint IS NOT NULL", claim, dbserver.EnvPostgres),
		of("mysqlstore", "Claim", "sql/replace_former.sql", "WHERE fence = ? AND", "WHERE ? IS NOT NULL AND", claim, dbserver.EnvMySQL),
		of("mysqlstore", "Settle", "sql/settle.sql", "WHERE fence = ? AND", "WHERE ? IS NOT NULL AND", settle, dbserver.EnvMySQL),
		of("mysqlstore", "Renew", "sql/renew.sql", "WHERE fence = ? AND", "WHERE ? IS NOT NULL AND", renew, dbserver.EnvMySQL),
		of("redisstore", "Settle", "lua/settle_one.lua", "if fence ~= mark then return 1 end", "", settle, dbserver.EnvRedis),
		of("redisstore", "Renew", "lua/renew.lua", "or fence ~= ARGV[1] or", "or", renew, dbserver.EnvRedis),
	}
}

// claims decide who executes (promise 1).
func claims() []mutant {
	return []mutant{
		{
			"memstore: fences grow", 1, "store/memstore/claim.go", "semel.Fence(s.fence.Add(1))", "semel.Fence(s.fence.Load())",
			"store/memstore",
			[]string{"TestStore/fence/grows-across-keys", "TestStore/race/fences"},
			"",
		},
		{
			"table: a live claim is not taken over", 1, verbs, "r.State == Claimed && r.Lapsed", "r.State == Claimed",
			"store/memstore",
			[]string{"TestStore/claim/takeover-live"},
			"",
		},
		{
			"table: a takeover names the fence it saw", 1, verbs, "takeOver != 0 && takeOver == rec.Fence &&", "takeOver != 0 &&",
			"store/memstore",
			[]string{"TestStore/claim/takeover-stale"},
			"",
		},
		{
			"sqlitestore: a takeover names the fence it saw", 1, "store/sqlitestore/internal/table/sql/claim.sql", "OR (fence = ?11 AND", "OR (?11 <> 0 AND",
			"store/sqlitestore",
			[]string{"TestStore/claim/takeover-stale"},
			"",
		},
		{
			"under two secrets, a claim looks again before anything runs", 1, "secrets.go",
			"		other, err := core.foremost(a.ctx, ds[1:])\n", "		other, err := Record{}, ErrNotFound\n",
			".",
			[]string{"TestSecretsInEveryOrder", "TestSecretsRace"},
			"",
		},
		{
			"a refused renewal stops the work", 1, "heartbeat.go", "	if err != nil {\n		c.lose(err)\n		return\n	}", "	if err != nil {\n		return\n	}",
			".",
			[]string{"TestRefusedRenewalEndsTheWork"},
			"",
		},
	}
}

// outcomes are given again (promise 2).
func outcomes() []mutant {
	return []mutant{
		{
			"an outcome is kept for the retention", 2, "claim.go", "s.Retention = cmp.Or(s.Retention, c.guard.policy.retention(s.State))", "s.Retention = cmp.Or(s.Retention, time.Millisecond)",
			".",
			[]string{"TestBeginReplaysTheFirstOutcomeUntilRetentionEnds"},
			"",
		},
		{
			"table: what is settled stays", 2, verbs, "	case rec.State == Completed || rec.State == Cancelled:\n		return Settled\n", "",
			"store/memstore",
			[]string{"TestStore/settle/otherwise"},
			"",
		},
		{
			"memstore: what has expired is absent", 2, "store/memstore/memstore.go", "if e == nil || transition.Reached(now, e.expires) {", "if e == nil || transition.Reached(0, 1) {",
			"store/memstore",
			[]string{"TestStore/settle/absent", "TestStore/renew/lapsed", "TestStore/expiry/takeover-absent", "TestStore/model/sequences"},
			"",
		},
		{
			"a released intent keeps nothing (401, 429, …)", 2, "semelhttp/header.go", "http.StatusTooManyRequests, statusLoginTimeout,", "statusLoginTimeout,",
			"semelhttp",
			[]string{"TestStatuses"},
			"",
		},
	}
}

// unknowns are never run again silently (promise 3).
func unknowns() []mutant {
	return []mutant{
		{
			"what is unknown is refused", 3, decisions, "case w.Refuse && !m.NeverRan:", "case false:",
			".",
			[]string{"TestCrashedHolderLeavesUnknown"},
			"",
		},
		{
			"a time-out of the work is unknown", 3, "do.go", "marked.state == StateUnknown, timedOut(err), ", "marked.state == StateUnknown, ",
			".",
			[]string{"TestDoSettlesByWhatTheWorkReturns"},
			"",
		},
		{
			"an answer after the deadline is unknown", 3, "semelhttp/execution.go", "case run.tx == nil && run.claim.Context().Err() != nil:", "case false:",
			"semelhttp",
			[]string{"TestDeadline", "TestLostClaim"},
			"",
		},
		{
			"an answer that was not kept is not executed again", 3, "claim.go",
			"err := c.settle(s, len(s.Outcome) == 0)",
			"err := c.settle(Settlement{State: StateReleased}, len(s.Outcome) == 0)",
			".",
			[]string{"TestOutcomeTooLarge"},
			"",
		},
		{
			"a tombstone stops the late original", 3, decisions, "case m.State == Cancelled:", "case false:",
			".",
			[]string{"TestCancel"},
			"",
		},
		{
			"table: a tombstone is for good", 3, verbs, "case rec.State == Completed || rec.State == Cancelled:", "case rec.State == Completed:",
			"store/memstore",
			[]string{"TestStore/settle/release-settled", "TestStore/settle/otherwise"},
			"",
		},
		{
			"on_5xx: unknown", 3, "semelhttp/execution.go", "case failed && on5xx == UnknownOn5xx, ", "case ",
			"semelhttp",
			[]string{"TestOn5xx"},
			"",
		},
		{
			"gateway: net/http does not find the key (decision 5)", 3, "gateway/upstream.go",
			"req.Header[disguisedKeyHeader] = values", "req.Header[canonicalKeyHeader] = values",
			"gateway",
			[]string{"TestOneCommitOnDyingConnection"},
			"",
		},
		{
			"client: net/http does not find the key", 3, "semelhttp/transport.go", "	name = strings.ToLower(name)\n", "",
			"semelhttp",
			[]string{"TestTransportKey", "TestTransportCountsEveryCommit"},
			"",
		},
		{
			"gateway: an answer that breaks off is unknown", 3, "gateway/upstream.go",
			"&failure{class: failureBrokenAnswer, sent: true,", "&failure{class: failureBrokenAnswer, sent: false,",
			"gateway",
			[]string{"TestUpstreamBreaks"},
			"",
		},
	}
}

// answered holds what was executed, or decided by hand, to that (promise 3).
func answered() []mutant {
	return append(verdicts(), []mutant{
		{
			"what is reconciled in the background is taken over first", 3, "seize.go", "if s.err != nil || !s.won {", "if s.err != nil {",
			".",
			[]string{"TestReconcileUnknownOnce"},
			"",
		},
		{
			"what cannot be decrypted is not executed again", 3, "seal.go",
			"			a.met = rec\n			return nil, a.fail(unreadable)\n", "			_ = unreadable\n",
			".",
			[]string{"TestSealedOutcomeWithoutItsKey"},
			"",
		},
	}...)
}

// transactions take rows and outcome together (promise 4).
func transactions() []mutant {
	return []mutant{
		{
			"a 5xx answer rolls back", 4, "semelhttp/transaction.go", "{ return c.Rollback(note) }", "{ return c.TxClaim.CompleteWithout(nil) }",
			"semelhttp",
			[]string{"TestTransaction"},
			"",
		},
		{
			"a 5xx answer that is stored leaves no rows", 4, "semelhttp/execution.go", "run.tx.failed = c.status >= http.StatusInternalServerError", "run.tx.failed = false",
			"semelhttp",
			[]string{"TestTransaction"},
			"",
		},
		{
			"a commit whose reply was lost is asked about", 4, "transaction.go", "		err = c.confirm(ctx, err)\n", "		err = fmt.Errorf(\"%w: %w\", ErrRolledBack, err)\n",
			".",
			[]string{"TestCommitWhoseReplyIsLost"},
			"",
		},
		{
			"the answer waits for the commit", 4, "semelhttp/execution.go", "		case c.held:\n			return run.commit()\n", "		case c.held:\n			c.send(run.m.words.executed)\n			run.settleAnswer()\n",
			"semelhttp",
			[]string{"TestCommitFails"},
			"",
		},
	}
}

// walls separate scopes and requests (promises 5 and 6).
func walls() []mutant {
	return []mutant{
		{
			"the scope is in the digest", 5, "digest.go", "	b = append(b, k.Scope...)\n", "",
			".",
			[]string{"TestBeginKeepsScopesApart", "TestDigestKeepsPartsApart"},
			"",
		},
		{
			"lengths are in the digest", 5, "digest.go", "	b = binary.BigEndian.AppendUint64(b, uint64(len(k.Scope)))\n", "",
			".",
			[]string{"TestDigestKeepsPartsApart"},
			"",
		},
		{
			"Set-Cookie is not stored", 5, "semelhttp/header.go", `case "Set-Cookie", "Set-Cookie2",`, `case "Set-Cookie2",`,
			"semelhttp",
			[]string{"TestHeaderPolicy"},
			"",
		},
		{
			"an encrypted summary does not pass for an answer", 5, "internal/seal/seal.go", "	if kept {\n		flag = 1\n	}\n", "",
			".",
			[]string{"TestSealedOutcomeIsBoundToItsRecord"},
			"",
		},
		{
			"the right is asked for before a repetition is answered", 5, "semelhttp/replayright.go", "if m.set.BeforeReplay == nil {", "if m != nil {",
			"semelhttp",
			[]string{"TestBeforeReplay"},
			"",
		},
		{
			"the right is asked for before a question is answered", 5, "semelhttp/status.go", "m.denial(about, rec)", "http.Handler(nil), error(nil)",
			"gateway",
			[]string{"TestStatusAsksForTheRight"},
			"",
		},
		{
			"a mismatch is refused", 6, decisions, "case !m.Asked:", "case false:",
			".",
			[]string{"TestBeginRefusesAnotherFingerprint"},
			"",
		},
		{
			"a mismatch does not show the record", 6, "begin.go", "if a.met != nil && !errors.Is(err, ErrMismatch) {", "if a.met != nil {",
			".",
			[]string{"TestBeginRefusesAnotherFingerprint"},
			"",
		},
		{
			"the body is in the fingerprint", 6, "semelhttp/fingerprint.go", "		h.AddBytes(body.mem)\n", "",
			"semelhttp",
			[]string{"TestMismatch", "TestFingerprint"},
			"",
		},
	}
}

// replies come after the record (promise 7).
func replies() []mutant {
	return []mutant{
		{
			"settled before the first byte", 7, "semelhttp/execution.go", "c.send(run.settleAnswer())", "c.send(run.m.words.executed)\n\t\t\trun.settleAnswer()",
			"semelhttp",
			[]string{"TestAnswerAfterRecord", "TestNotStored"},
			"",
		},
		{
			"an answer that is not recorded says so", 7, "semelhttp/execution.go", "	run.outcome, run.err = outcomelog.NotStored, err\n	return false", "	return true",
			"semelhttp",
			[]string{"TestNotStored"},
			"",
		},
		{
			"a settlement that failed is an error", 7, "claim.go", `err = &Error{Op: opSettle, Digest: c.digest, Err: fmt.Errorf("%w: %w", ErrNotStored, err)}`, "_, err = fmt.Print, nil",
			".",
			[]string{"TestOutcomeThatCannotBeRecorded"},
			"",
		},
		{
			"a settlement whose reply was lost is repeated", 7, "claim.go", "		err = c.settleAgain(s, began, err)\n", "		_ = c.settleAgain\n",
			".",
			[]string{"TestSettleRepeatsALostReply"},
			"",
		},
	}
}

// bounds hold what grows (promise 8).
func bounds() []mutant {
	return []mutant{
		{
			"waiters per key", 8, "internal/waiting/rooms.go", " || (room != nil && room.n >= r.perKey)", "",
			".",
			[]string{"TestBeginBoundsWaiters"},
			"",
		},
		{
			"waiters per scope", 8, "internal/waiting/rooms.go", " || r.byScope[scope] >= r.perScope", "",
			".",
			[]string{"TestBeginBoundsWaiters"},
			"",
		},
		{
			"waiters in all", 8, "internal/waiting/rooms.go", "int(r.count.Load()) >= r.total || ", "",
			".",
			[]string{"TestBeginBoundsWaiters"},
			"",
		},
		{
			"live claims", 8, "begin.go", "if c.live.Load() >= c.maxLive {", "if false {",
			".",
			[]string{"TestBeginBoundsLiveClaims"},
			"",
		},
		{
			"live claims of one scope", 8, "internal/quota/quota.go", "if n >= q.most {", "if false {",
			".",
			[]string{"TestLiveClaimsPerScope"},
			"",
		},
		{
			"records of one scope", 8, "internal/quota/quota.go", "if w.total >= q.most {", "if false {",
			".",
			[]string{"TestRecordsPerScope"},
			"",
		},
		{
			"claims that wait for the store", 8, "begin.go", "if c.queue.Add(1) > c.maxQueue {", "if c.queue.Add(1) < 0 {",
			".",
			[]string{"TestStoreQueue"},
			"",
		},
		{
			"size of an outcome", 8, "policy.go", "if p.Dedup || len(outcome) > p.MaxOutcomeBytes {", "if p.Dedup {",
			".",
			[]string{"TestOutcomeTooLarge"},
			"",
		},
		{
			"size of a request body", 8, "semelhttp/body.go", "		if b.size > b.max {", "		if false {",
			"semelhttp",
			[]string{"TestBodyBound"},
			"",
		},
		{
			"memstore: bytes", 8, "store/memstore/memstore.go", "if bytes != 0 && !reserve(&s.bytes, bytes, s.maxBytes) {", "if false {",
			"store/memstore",
			[]string{"TestFullOfBytes"},
			"",
		},
	}
}

// clocks decide leases (promise 9).
func clocks() []mutant {
	return []mutant{
		{
			"a tenth of the lease is a margin", 9, "internal/transition/record.go", "return lease - lease/10", "return lease",
			".",
			[]string{"TestLeaseIsTrustedFromTheStartOfTheCall", "TestClocksThatRunAtOtherSpeeds"},
			"",
		},
		{
			"a lease counts from the start of the renewal", 9, "heartbeat.go", "c.trusted = trustedUntil(began, ", "c.trusted = trustedUntil(time.Now(), ",
			".",
			[]string{"TestLeaseIsTrustedFromTheStartOfTheCall"},
			"",
		},
		{
			"a lease counts from the start of the claim", 9, "claim.go", "c.trusted = trustedUntil(s.began, ", "c.trusted = trustedUntil(time.Now(), ",
			".",
			[]string{"TestLeaseIsTrustedFromTheStartOfTheCall"},
			"",
		},
		{
			"a store that hangs does not hold the work", 9, "heartbeat.go", "			c.lose(context.Cause(ctx))\n", "			_ = c.lose\n",
			".",
			[]string{"TestHangingRenewal", "TestLeaseIsTrustedFromTheStartOfTheCall"},
			"",
		},
		{
			"sqlitestore: the clock never runs backwards", 9, "store/sqlitestore/internal/clock/clock.go", "us < least {", "us < least && least < 0 {",
			"store/sqlitestore",
			[]string{"TestClockSetBackBetweenRuns", "TestClockSetBackWhileOpen"},
			"",
		},
	}
}

// unreachable stores execute nothing (promise 10).
func unreachable() []mutant {
	return []mutant{
		{
			"a silent store is given up", 10, "internal/waiting/bound.go", "context.WithDeadline(v.parent, v.until)", "context.WithCancel(v.parent)",
			".",
			[]string{"TestHangingStore"},
			"",
		},
		{
			"fail-open is an option", 10, "semelhttp/handler.go", "case m.set.FailOpen && unreachable(err):", "case unreachable(err):",
			"semelhttp",
			[]string{"TestStoreDown"},
			"",
		},
		{
			"fail-open not past a record that the store returned", 10, "semelhttp/exchange.go", " && e.Record == nil", " && e != nil",
			"semelhttp",
			[]string{"TestFailOpenKnowsTheRecord"},
			"",
		},
		{
			"fail-open not past a record that cannot be read", 10, "semelhttp/exchange.go", "!errors.Is(err, semel.ErrNewerRecord) && ", "",
			"internal/integration/rolling",
			[]string{"TestSQLite"},
			"",
		},
		{
			"memstore: a claim whose reply was lost is recognised", 10, "store/memstore/claim.go", "e.owner == p.Owner && p.Owner", "false && p.Owner",
			".",
			[]string{"TestClaimRepeatsALostReply"},
			"",
		},
		{
			"a claim whose reply never came is given back", 10, "begin.go", "		c.giveBack(p)\n", "		_ = c.giveBack\n",
			".",
			[]string{"TestUnreachableStore", "TestBeginEndsWithItsContext", "TestUnreachableStoreDuringTakeover"},
			"",
		},
	}
}
