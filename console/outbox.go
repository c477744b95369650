package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/outbox"
)

// outboxPage shows how far an outbox is behind, and the messages that fail.
type outboxPage struct {
	outbox.Stats

	Off   bool   // the console has no business database
	Gone  string // why its outbox cannot be read
	Lag   string
	Many  bool // not all that wait are counted
	Held  []outbox.Held
	Again bool // more are held back than are shown
}

// openOutbox opens the outbox of the business database.
func (c *Console) openOutbox(ctx context.Context) (*outbox.Outbox, error) {
	return outbox.Open(ctx, c.database.DB, &outbox.Options{Table: c.outboxes, SkipMigrations: true})
}

func (c *Console) outbox(k *call) {
	p := outboxPage{Off: c.database == nil}
	if !p.Off {
		ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
		defer cancel()
		out, err := c.openOutbox(ctx)
		if err == nil {
			p.Stats, err = out.Stats(ctx)
		}
		if err == nil {
			p.Held, err = out.List(ctx, pageRecords+1)
		}
		if err != nil {
			p.Gone = err.Error()
		}
		if p.Again = len(p.Held) > pageRecords; p.Again {
			p.Held = p.Held[:pageRecords]
		}
		p.Lag, p.Many = p.Oldest.Round(time.Millisecond).String(), p.Waiting >= outbox.MaxCounted
	}
	c.show(k, http.StatusOK, "outbox", "Outbox", p)
}

// heldPage shows a message that fails, and the form to decide on it.
type heldPage struct {
	outbox.Held
	form

	Gone string // why it is not shown
}

// held shows a message of the outbox that is held back.
func (c *Console) held(k *call, status int) {
	p := heldPage{form: k.form}
	p.ID = k.URL.Query().Get("id")
	if c.database == nil {
		c.outbox(k)
		return
	}
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	var all []outbox.Held
	out, err := c.openOutbox(ctx)
	if err == nil {
		all, err = out.List(ctx, outbox.MaxList)
	}
	p.Gone = "It is not among the first messages that are held back: it may have been published or decided on meanwhile."
	if err != nil {
		p.Gone = err.Error()
	}
	for i := range all {
		if all[i].ID == p.ID {
			p.Held, p.Gone = all[i], ""
		}
	}
	c.show(k, status, "held", "Message held back", p)
}

// decideHeld releases or skips a message of the outbox.
func (c *Console) decideHeld(k *call) (string, *refusal) {
	if c.database == nil {
		return "", nil // the page says so
	}
	as, reason := k.PostFormValue(string(operatorview.FieldAs)), strings.TrimSpace(k.PostFormValue(string(operatorview.FieldReason)))
	if as != "release" && as != "skip" {
		return "", &refusal{http.StatusUnprocessableEntity, "Nothing was done: choose whether to release or to skip the message.", string(operatorview.FieldAs)}
	}
	if err := operatorview.CheckReason(reason, label); err != nil {
		return "", refused(err)
	}
	id := k.URL.Query().Get("id")
	out, err := c.openOutbox(k.Context())
	switch {
	case err != nil:
	case as == "release":
		err = out.Release(k.Context(), c.guard, k.by(), id, reason)
	default:
		err = out.Skip(k.Context(), c.guard, k.by(), id, reason, 0)
	}
	c.logAct(k, as, "outbox "+id, err)
	switch {
	case errors.Is(err, outbox.ErrNotHeld):
		return "", &refusal{http.StatusConflict, "Nothing was done: the message is not held back any more, or another one of its key is before it.", ""}
	case err != nil:
		return "", &refusal{http.StatusServiceUnavailable, "It is not certain whether this was done; this page shows what the database says now. " + err.Error(), ""}
	}
	return Path + "outbox", nil
}
