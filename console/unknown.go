package console

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/operator"
)

// maxPicked bounds the records that one form settles, and those on the page that it is on.
const maxPicked = 100

// unknownPage shows the records that wait for a verdict.
type unknownPage struct {
	*found
	form

	// Results has the outcome of each chosen record.
	Results []result
	Next    bool // more wait
}

// result tells the outcome of one record of many.
type result struct{ What, Said string }

// unknown shows the records of unknown outcome, the oldest of a page first.
func (c *Console) unknown(k *call, status int) {
	p := unknownPage{form: k.form, Results: k.results}
	fresh := c.newsOf(openNews, "", k.URL.Path)
	var err error
	p.found, err = c.search(k, operator.Search{States: []semel.State{semel.StateUnknown}, Limit: maxPicked}, needs)
	if err != nil {
		c.storeFailed(k, err)
		return
	}
	p.News, p.Pick = fresh, !k.session.ReadOnly
	slices.Reverse(p.Records)
	if p.Done == "" {
		p.Done = c.sessions.told(k.Request)
	}
	p.Next = p.Done != "" && len(p.Records) > 0
	c.show(k, status, "unknown", "Unknown outcomes", p)
}

// settleMany settles each of the chosen records, for the attempt that the operator saw, and reports the outcome of each. When the
// store goes away, it stops: the rest stays as it was.
func (c *Console) settleMany(k *call) (string, *refusal) {
	picked := k.PostForm["pick"]
	as := k.PostFormValue(string(operatorview.FieldAs))
	reason := strings.TrimSpace(k.PostFormValue(string(operatorview.FieldReason)))
	switch {
	case len(picked) == 0:
		return "", &refusal{http.StatusUnprocessableEntity, "Nothing was done: choose the records to settle.", "pick"}
	case len(picked) > maxPicked:
		return "", &refusal{http.StatusUnprocessableEntity, fmt.Sprintf("Nothing was done: at most %d records are settled together, and %d were chosen.", maxPicked, len(picked)), "pick"}
	case as != "released" && as != "cancelled":
		return "", &refusal{http.StatusUnprocessableEntity, "Nothing was done: choose an outcome for all of them. A request that happened has an answer of its own: settle it on its page.", string(operatorview.FieldAs)}
	}
	v := operatorview.RecordVerdict{As: as, Reason: reason, Naming: label}
	settlement, err := v.Settlement()
	if err != nil {
		return "", refused(err)
	}
	done := 0
	for i, pick := range picked {
		short, err := c.settlePicked(k, pick, settlement)
		if err == nil {
			done++
			k.results = append(k.results, result{short, as})
			continue
		}
		if no := refused(err); no.status != http.StatusServiceUnavailable {
			k.results = append(k.results, result{short, strings.TrimPrefix(no.text, "Nothing was done: ")})
			continue
		}
		k.results = append(k.results, result{short, "It is not certain whether it was settled. " + err.Error()})
		for _, rest := range picked[i+1:] {
			k.results = append(k.results, result{shortPick(rest), "nothing was done: the store had gone away before it"})
		}
		return "", &refusal{http.StatusServiceUnavailable, fmt.Sprintf("The store went away: %d of %d were settled before; the list has each of them.", done, len(picked)), ""}
	}
	k.form = form{Done: fmt.Sprintf("%d of %s settled as %s.", done, texts.Count(len(picked), "record"), as)}
	return "", nil
}

// settlePicked settles one of the chosen records.
func (c *Console) settlePicked(k *call, pick string, settlement semel.Settlement) (short string, err error) {
	text, fence, _ := strings.Cut(pick, ":")
	digest, err := semel.ParseDigest(text)
	if err != nil {
		return shortPick(pick), &operatorview.FieldError{Field: "pick", Text: "it names no record"}
	}
	seen, err := strconv.ParseUint(fence, 10, 64)
	if err != nil {
		return shortPick(pick), &operatorview.FieldError{Field: "pick", Text: "it names no attempt"}
	}
	short = digest.String()[:12]
	rec, err := c.records.Resolve(k.Context(), k.by(), digest, semel.Fence(seen), settlement)
	if rec.Name != "" {
		short = visible(rec.Name)
	}
	c.logAct(k, settlement.State.String(), digest.String()[:12], err)
	c.waiting.forget()
	return short, err
}

// shortPick names a choice that may be anything.
func shortPick(pick string) string { return visible(pick[:min(len(pick), 12)]) }
