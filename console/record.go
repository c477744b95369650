package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	told "github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
)

// maxShownBytes bounds the part of a recorded body that a page shows.
const maxShownBytes = 16 << 10

// recordPage shows a record, and the form for a verdict where it is unknown.
type recordPage struct {
	operatorview.Record

	Story    []moment
	Asked    string   // what the reconcile rule found, in place of a note
	Headers  []header // in the order of their names
	Body     string   // the recorded body, or why it is not shown
	Readable bool
	// Open says that the record waits for a verdict.
	Open bool
	form

	Flow  string     // the digest of the flow that this is a step of; empty if it is not a step, or cannot be told
	Steps []flowStep // of a flow
	Gone  string     // why the steps cannot be read
	Of    kind
	// Waits marks a flow that is not settled. Parked has a step where it waits for an operator, and none where it waits for its next attempt.
	Waits  bool
	Parked place
	Own    bool   // the record to settle is the flow's, and no step's
	Word   string // its state in a list
	Next   bool   // another record waits for a verdict
	// Repeats are the repetitions that this process has met; nil when it meets none.
	Repeats *operatorview.Repeats
	Line    *timeline // nil for none
	// Logged says that the outcome log may have entries about it.
	Logged bool
	// Ask is a command that asks for the outcome as a caller does; empty where the key cannot be written in one.
	Ask string
	// Check is a command that shows what semel check would ask of the record's route; empty where the scope does not tell it.
	Check string
}

// moment is a part of a record's story.
type moment struct {
	At, What string
	Said     string // by the operator that did it
	Tone     string // the state that it led to; empty where it led to none
}

type header struct{ Name, Value string }

// record reads the record, and shows it with what its form says.
func (c *Console) record(k *call, status int) {
	p := recordPage{form: k.form}
	digest, err := semel.ParseDigest(k.PathValue("digest"))
	if err != nil {
		c.missing(k, "This record does not exist", "A record is named by its digest, 64 hexadecimal digits.")
		return
	}
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	rec, err := c.guard.Store().Lookup(ctx, digest)
	switch {
	case errors.Is(err, semel.ErrNotFound):
		c.missing(k, "This record does not exist", "It was released, so the next attempt executes, or it has expired.")
		return
	case err != nil:
		c.storeFailed(k, err)
		return
	}
	_ = operatorview.Reveal(c.guard, &rec) // an unreadable answer is shown as encrypted
	given, err := c.records.VerdictOn(ctx, &rec)
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		c.storeFailed(k, err)
		return
	}
	p.Record, p.Story, p.Flow = operatorview.ViewRecord(&rec), story(&rec, &given), c.flowOf(ctx, &rec)
	p.Open = operator.State(&rec) == semel.StateUnknown
	if found, _, ok := reconciled(&rec); ok {
		p.Asked, p.Note = found, ""
	}
	p.Ask, p.Check, p.Logged, p.Of = question(&rec), checkOf(&rec), c.kept != nil, kindOf(&rec)
	p.place(&rec)
	if p.Done = c.sessions.told(k.Request); p.Done != "" {
		waiting := c.recentPending(ctx)
		p.Next = waiting != nil && waiting.Needs > 0
	}
	p.Repeats = operatorview.ViewRepeats(ctx, c.repeats, &rec)
	p.Line = drawTime(&rec, p.Repeats)
	c.addSteps(ctx, &p, &rec)
	if !k.session.ReadOnly {
		p.answer(&rec)
	}
	c.show(k, status, "record", "Record "+p.Digest[:12], p)
}

// place finds out for whom a flow waits.
func (p *recordPage) place(rec *semel.Record) {
	p.Word = viewRow(rec).Word
	if p.Of != ofFlow || !p.Open {
		return
	}
	p.Waits, p.Parked, p.Own = true, parkedAt(rec.Note), needs(rec)
	if p.Parked.Step != "" {
		p.Note = ""
	}
}

// answer adds the recorded answer.
func (p *recordPage) answer(rec *semel.Record) {
	r := operatorview.ReadOutcome(rec)
	if r == nil {
		return
	}
	for name, values := range r.Header {
		for _, value := range values {
			p.Headers = append(p.Headers, header{name, value})
		}
	}
	slices.SortStableFunc(p.Headers, func(a, b header) int { return cmp.Compare(a.Name, b.Name) })
	if p.Body, p.Readable = shown(r.Body); r.BodyOmitted {
		p.Body, p.Readable = "The body was not kept.", false
	}
}

// story tells what happened, in the order of time. The store keeps the times of the last attempt only. by is the verdict that
// settled it; the zero one where its own attempt did.
func story(rec *semel.Record, by *operator.Entry) []moment {
	var all []moment
	add := func(at time.Time, what, said string) {
		all = append(all, moment{At: operatorview.Time(at), What: what, Said: said})
	}
	switch earlier := rec.Attempt - 1; {
	case earlier == 1:
		add(time.Time{}, "One earlier attempt ended without an answer, or with an unknown outcome, and was taken over.", "")
	case earlier > 1:
		add(time.Time{}, fmt.Sprintf("%d earlier attempts ended without an answer, or with an unknown outcome, and were taken over.", earlier), "")
	}
	attempt := fmt.Sprintf("attempt %d, with fence %d", rec.Attempt, rec.Fence)
	_, since, asked := reconciled(rec)
	if asked {
		add(since, "Since then it is not known whether it happened.", "")
		add(rec.ClaimedAt, "The reconcile rule of its route asked whether it happened: "+attempt+".", "")
	} else if by.Fence != 0 {
		add(rec.ClaimedAt, visible(by.Operator.Name)+" took it over to settle it ("+visible(by.Operator.Via)+"): "+attempt+".", by.Reason)
	} else {
		add(rec.ClaimedAt, strings.ToUpper(attempt[:1])+attempt[1:]+", began.", "")
	}
	switch {
	case rec.Lapsed():
		add(rec.LeaseUntil, "Its lease ended without an answer: it may have happened or not.", "")
	case rec.State == semel.StateClaimed:
		add(rec.LeaseUntil, "It is being executed. Its lease lasts until then, unless it is renewed.", "")
	case asked:
		add(rec.SettledAt, "It found no certain answer: it may have happened or not.", "")
	case rec.State == semel.StateUnknown:
		add(rec.SettledAt, "It ended without an answer"+after(rec)+": it may have happened or not.", "")
	case by.Fence != 0:
		add(rec.SettledAt, "The verdict took effect: "+became(rec)+".", "")
	default:
		add(rec.SettledAt, "It was settled"+after(rec)+": "+became(rec)+".", "")
	}
	all[len(all)-1].Tone = operator.State(rec).String()
	add(rec.ExpiresAt, "The record expires. After that, the same key executes again.", "")
	return all
}

// reconciled returns what a reconcile rule found that could not tell whether the record's intent happened, and since when
// that is unknown.
func reconciled(rec *semel.Record) (found string, since time.Time, ok bool) {
	if rec.State != semel.StateUnknown {
		return "", time.Time{}, false
	}
	found, since, ok = verdict.Since(rec.Note)
	return strings.TrimPrefix(found, "reconcile: "), since, ok
}

// after says how long the attempt took; nothing where clocks that jumped cannot tell.
func after(rec *semel.Record) string {
	took := rec.SettledAt.Sub(rec.ClaimedAt)
	if took < 0 || rec.ClaimedAt.IsZero() {
		return ""
	}
	return " after " + took.Round(time.Millisecond).String()
}

// flowOf returns the digest of the flow that the record is a step of. A step names the flow's key without the guard's secret,
// so under a secret it cannot be found.
func (c *Console) flowOf(ctx context.Context, rec *semel.Record) string {
	text, step := strings.CutPrefix(rec.Scope, verdict.StepScopes)
	digest, err := semel.ParseDigest(text)
	if !step || err != nil {
		return ""
	}
	if _, err := c.guard.Store().Lookup(ctx, digest); err != nil {
		return ""
	}
	return text
}

// became says what a record means for the next attempt.
func became(rec *semel.Record) string {
	switch operator.State(rec) {
	case semel.StateCompleted:
		if r := operatorview.ReadOutcome(rec); r != nil {
			return "it happened, and attempts get the answer " + strconv.Itoa(r.Status)
		}
		return "it happened"
	case semel.StateFailed:
		return "it failed for good, and attempts get the error"
	case semel.StateUnreadable:
		return "it happened or failed: the answer cannot be decrypted, and attempts are refused"
	case semel.StateCancelled:
		return "it was cancelled, and attempts are refused"
	case semel.StateUnknown:
		return "it may have happened or not"
	case semel.StateClaimed:
		return "it is being executed"
	case semel.StateAbsent, semel.StateReleased:
	}
	return "it did not happen, and the next attempt executes"
}

// functions are those of the templates.
func functions() map[string]any {
	return map[string]any{
		"visible": visible, "body": body, "tone": tone, "symbol": symbol, "ago": ago, "age": age, "sentence": sentence, "reference": told.Reference,
		"clock": func(text string) string {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return text
			}
			return at.Format("15:04 UTC")
		},
		"when": func(text string) string {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return text
			}
			return at.Format("2006-01-02 15:04:05 UTC")
		},
	}
}

// sentence ends a text with a full stop, unless it has an end.
func sentence(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// ago writes the time since then for a line of a list.
func ago(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	switch since := time.Since(at); {
	case err != nil:
		return text
	case since < -time.Minute:
		return "in " + shorten.Replace(round(-since))
	case since < time.Second:
		return "just now"
	default:
		return shorten.Replace(round(since)) + " ago"
	}
}

// shorten abbreviates the units of round, for a line of a list.
var shorten = strings.NewReplacer(" seconds", " s", " second", " s", " minutes", " min", " minute", " min", " hours", " h") //nolint:gochecknoglobals // a constant.

// age writes the time since then.
func age(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return round(max(0, time.Since(at)))
}

// round writes a duration in its largest whole unit.
func round(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return texts.Count(int(d/day), "day")
	case d >= 2*time.Hour:
		return texts.Count(int(d/time.Hour), "hour")
	case d >= time.Minute:
		return texts.Count(int(d/time.Minute), "minute")
	}
	return texts.Count(int(d/time.Second), "second")
}

// visible writes characters that cannot be seen, or that change the direction of others, by their numbers.
func visible(text string) string { return mark(text, "") }

// body is visible for a text of many lines.
func body(text string) string { return mark(text, "\n\t\r") }

func mark(text, but string) string {
	hidden := func(r rune) bool {
		return (!unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) && r != ' ') && !strings.ContainsRune(but, r)
	}
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, "‹U+%04X›", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// question returns the command that asks a gateway for the outcome of an intent, as its caller does. Method, host and path are
// those of a scope that has them.
func question(rec *semel.Record) string {
	if rec.Name == "" || strings.HasPrefix(rec.Scope, verdict.OwnScopes) || strings.ContainsFunc(rec.Name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return ""
	}
	method, host, path, ok := routeOf(rec)
	if !ok {
		method, host, path = "POST", "GATEWAY", "/PATH"
	}
	address := host + "/.well-known/idempotency/status?" + url.Values{"method": {method}, "path": {path}}.Encode()
	return "curl --globoff --header " + quoted(`Idempotency-Key: "`+rec.Name+`"`) + " --url " + quoted(address)
}

// routeOf returns method, host and path, where the scope has them, as semelhttp.ScopeBy writes it.
func routeOf(rec *semel.Record) (method, host, path string, ok bool) {
	words := strings.Fields(rec.Scope)
	if len(words) != 4 || !strings.HasPrefix(words[3], "/") {
		return "", "", "", false
	}
	return words[1], words[2], words[3], true
}

// checkOf returns the command that lists the checks of the record's route. A record holds the fingerprint of its request and not
// the request, so the body is left to the operator.
func checkOf(rec *semel.Record) string {
	method, host, path, ok := routeOf(rec)
	if !ok || strings.HasPrefix(rec.Scope, verdict.OwnScopes) {
		return ""
	}
	return "semel check --dry-run -- curl --request " + quoted(method) + " --url " + quoted(host+path) + " --data @request.json"
}

// quoted returns text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
