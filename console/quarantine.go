package console

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/operator"
)

// quarantinePage lists messages that consumers could not handle.
type quarantinePage struct {
	rest

	Messages []heldRow
	Consumer string
	All      bool // handled and dropped ones as well
	Hidden   bool // the store does not know which records are messages
}

// heldRow is a message in a list.
type heldRow struct {
	*inbox.Held

	State, Since string
}

func viewHeld(h *inbox.Held) heldRow {
	r := heldRow{h, h.Decision, operatorview.Time(h.At)}
	if r.State == "" {
		r.State = "waiting"
	}
	return r
}

func (c *Console) quarantine(k *call) {
	q := k.URL.Query()
	p := quarantinePage{Consumer: q.Get("consumer"), All: q.Has("all"), Hidden: c.guard.HidesKeys()}
	var err error
	if !p.Hidden {
		p.rest, err = c.scan(k, func(shown int) { p.Messages = p.Messages[:shown] }, func(ctx context.Context, s operator.Search) (int, operator.Progress, error) {
			at, err := inbox.List(ctx, c.guard, p.Consumer, s, func(h *inbox.Held) error {
				if r := viewHeld(h); p.All || r.State == "waiting" || r.State == "released" {
					p.Messages = append(p.Messages, r)
				}
				return nil
			})
			return len(p.Messages), at, err
		})
	}
	if err != nil {
		c.storeFailed(k, err)
		return
	}
	c.show(k, http.StatusOK, "quarantine", "Quarantine", p)
}

// messagePage shows a message, and the form to decide on it.
type messagePage struct {
	heldRow
	form

	Bytes    int
	Expires  string
	Sent     string
	Key      string // or why it is not shown
	Headers  []header
	Body     string // or why it is not shown
	Readable bool
	Broken   string // why the message cannot be read
}

// message shows a message in quarantine.
func (c *Console) message(k *call, status int) {
	digest, err := semel.ParseDigest(k.PathValue("digest"))
	if err != nil {
		c.missing(k, "This message does not exist", "A message is named by the digest of its record, 64 hexadecimal digits.")
		return
	}
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	h, err := inbox.Find(ctx, c.guard, digest)
	switch {
	case errors.Is(err, semel.ErrNotFound):
		c.missing(k, "This message does not exist", "It is not in quarantine any more: it has expired.")
		return
	case err != nil && k.form.Problem == "":
		c.storeFailed(k, err)
		return
	case err != nil: // what was typed stays on the page
		h = &inbox.Held{Digest: digest, Err: err}
	}
	p := messagePage{heldRow: viewHeld(h), form: k.form, Bytes: len(h.Message.Body), Expires: operatorview.Time(h.Expires), Sent: operatorview.Time(h.Message.Time)}
	if h.Err != nil {
		p.Broken = h.Err.Error()
	}
	if k.URL.Query().Has("done") {
		p.Done = "The message is " + p.State + "."
	}
	if !k.session.ReadOnly {
		for _, name := range slices.Sorted(maps.Keys(h.Message.Header)) {
			for _, value := range append([]string{h.Message.Header[name]}, h.Message.Repeated[name][min(1, len(h.Message.Repeated[name])):]...) {
				p.Headers = append(p.Headers, header{name, value})
			}
		}
		p.Key, _ = shown(h.Message.Key)
		p.Body, p.Readable = shown(h.Message.Body)
	}
	c.show(k, status, "message_held", "Message in quarantine", p)
}

// shown returns a body as a page shows it, or why it does not.
func shown(body []byte) (text string, readable bool) {
	switch {
	case !utf8.Valid(body):
		return texts.Count(len(body), "byte") + ", not text.", false
	case len(body) > maxShownBytes:
		return strings.ToValidUTF8(string(body[:maxShownBytes]), "") + "…", true
	}
	return string(body), len(body) > 0
}

// decideMessage releases or drops a message.
func (c *Console) decideMessage(k *call) (string, *refusal) {
	digest, err := semel.ParseDigest(k.PathValue("digest"))
	if err != nil {
		return "", nil // the page says that there is none
	}
	reason := strings.TrimSpace(k.PostFormValue(string(operatorview.FieldReason)))
	as := k.PostFormValue(string(operatorview.FieldAs))
	decide := map[string]func(context.Context, *semel.Guard, operator.Identity, semel.Digest, string) (*inbox.Held, error){"release": inbox.Release, "drop": inbox.Drop}[as]
	if decide == nil {
		return "", &refusal{http.StatusUnprocessableEntity, "Nothing was done: choose whether to release or to drop the message.", string(operatorview.FieldAs)}
	}
	if err := operatorview.CheckReason(reason, label); err != nil {
		return "", refused(err)
	}
	h, err := decide(k.Context(), c.guard, k.by(), digest, reason)
	c.logAct(k, as, digest.String()[:12], err)
	switch {
	case err == nil:
		return Path + "quarantine/" + digest.String() + "?done", nil
	case errors.Is(err, semel.ErrSettled) && h != nil && h.Decision != "":
		return "", &refusal{http.StatusConflict, "Nothing was done: the message is already " + h.Decision + ".", ""}
	case errors.Is(err, semel.ErrSettled):
		return "", &refusal{http.StatusConflict, "Nothing was done: another operator decided on it meanwhile, as is shown here.", ""}
	case errors.Is(err, semel.ErrNotFound):
		return "", &refusal{http.StatusConflict, "Nothing was done: the message has expired.", ""}
	case h != nil && h.Err != nil:
		return "", &refusal{http.StatusConflict, "Nothing was done: the message cannot be read, so it can only be dropped. " + h.Err.Error(), ""}
	}
	return "", &refusal{http.StatusServiceUnavailable, "It is not certain whether this was done; this page shows what the store says now. " + err.Error(), ""}
}
