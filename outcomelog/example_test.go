package outcomelog_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/semel-dev/semel/outcomelog"
)

func ExampleTo() {
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	sink := outcomelog.To(slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: noTime})))
	sink(context.Background(), outcomelog.Event{
		Door: outcomelog.Middleware, Outcome: outcomelog.Created, Key: "9f2c51d07a3be846", Route: "POST /customers",
		Rule: "customer_email", Fields: []string{"email"}, Status: 201,
	})
	// Output:
	// {"level":"INFO","msg":"create","create":{"door":"middleware","outcome":"created","key":"9f2c51d07a3be846","route":"POST /customers","rule":"customer_email","fields":["email"],"status":201}}
}

// A door gives the work under it a note, and asks it afterwards.
func ExampleNoteFrom() {
	note := new(outcomelog.Note)
	ctx := context.WithValue(context.Background(), outcomelog.NoteKey{}, note)
	outcomelog.NoteFrom(ctx).Say(outcomelog.ReturnedExisting, "customer_email", []string{"email"})
	outcome, rule, fields := note.Said()
	slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})).LogAttrs(ctx, slog.LevelInfo, "note", slog.String("outcome", string(outcome)), slog.String("rule", rule), slog.Any("fields", fields))
	// Output:
	// msg=note outcome=returned-existing rule=customer_email fields=[email]
}
