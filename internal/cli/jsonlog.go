package cli

import (
	"context"
	"io"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"
)

// wholeLines writes one line at a time.
type wholeLines struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (w *wholeLines) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}

// jsonLog writes what slog.JSONHandler does. A plain line is put together without encoding/json, which halves its cost.
type jsonLog struct {
	slog.Handler // for all other lines; it writes to out
	out          *wholeLines
	spare        sync.Pool // of *[]byte
}

// Handle implements slog.Handler. WithAttrs and WithGroup are those of slog.JSONHandler.
func (h *jsonLog) Handle(ctx context.Context, r slog.Record) error {
	spare, _ := h.spare.Get().(*[]byte)
	if spare == nil {
		spare = new([]byte)
	}
	defer h.spare.Put(spare)
	var ok bool
	if *spare, ok = appendLine((*spare)[:0], &r); !ok {
		return h.Handler.Handle(ctx, r)
	}
	_, err := h.out.Write(*spare)
	return err
}

// appendLine appends the line of slog.JSONHandler; ok is false if a part of it is not plain.
func appendLine(b []byte, r *slog.Record) (_ []byte, ok bool) {
	b = r.Time.Round(0).AppendFormat(append(b, `{"time":"`...), time.RFC3339Nano)
	b = append(append(b, `","level":"`...), r.Level.String()...)
	b, ok = appendText(append(b, `","msg":`...), r.Message)
	ok = ok && r.Time.Year() > 1 && r.Time.Year() < 10_000
	r.Attrs(func(a slog.Attr) bool {
		if ok {
			b, ok = appendAttr(append(b, ','), a)
		}
		return ok
	})
	return append(b, "}\n"...), ok
}

func appendAttr(b []byte, a slog.Attr) (_ []byte, ok bool) {
	if b, ok = appendText(b, a.Key); !ok || a.Key == "" {
		return b, false
	}
	b = append(b, ':')
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return appendText(b, v.String())
	case slog.KindInt64:
		return strconv.AppendInt(b, v.Int64(), 10), true
	case slog.KindUint64:
		return strconv.AppendUint(b, v.Uint64(), 10), true
	case slog.KindFloat64: // others have an exponent, or are not numbers in JSON
		f := v.Float64()
		return strconv.AppendFloat(b, f, 'f', -1, 64), f == 0 || math.Abs(f) >= 1e-6 && math.Abs(f) < 1e21
	case slog.KindGroup:
		for i, inner := range v.Group() {
			if b, ok = appendAttr(append(b, "{,"[min(i, 1)]), inner); !ok {
				return b, false
			}
		}
		return append(b, '}'), len(v.Group()) > 0
	case slog.KindAny, slog.KindBool, slog.KindDuration, slog.KindTime, slog.KindLogValuer:
		names, ok := v.Any().([]string)
		return append(b, "[]"...), ok && names != nil && len(names) == 0
	}
	return b, false
}

// appendText appends a quoted text; ok is false if it has a byte that may need an escape.
func appendText(b []byte, text string) (_ []byte, ok bool) {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return b, false
		}
	}
	return append(append(append(b, '"'), text...), '"'), true
}
