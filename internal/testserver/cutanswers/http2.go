package cutanswers

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frameBytes is the length of the DATA frames of a body.
const frameBytes = 16 << 10

// wire2 is one HTTP/2 connection.
type wire2 struct {
	*http2.Framer
	out     *bufio.Writer
	windows map[uint32]int64 // of the streams; 0 is the connection
	initial int64
	open    map[uint32]map[string]string // requests whose end has not come, by stream
	decoder *hpack.Decoder
}

// http2 answers the requests of one connection, one after the other.
func (s *Server) http2(conn net.Conn) {
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	out := bufio.NewWriter(conn)
	w := &wire2{
		Framer: http2.NewFramer(out, bufio.NewReader(conn)), out: out, initial: 65535,
		windows: map[uint32]int64{0: 65535}, open: map[uint32]map[string]string{}, decoder: hpack.NewDecoder(4096, nil),
	}
	if w.WriteSettings() != nil || out.Flush() != nil {
		return
	}
	for {
		stream, err := w.next()
		if err != nil {
			return
		}
		if stream == 0 {
			continue
		}
		request := w.open[stream]
		delete(w.open, stream)
		address := unescaped(request[":path"])
		if request[":method"] != http.MethodPost {
			media, content := s.page(address)
			err = w.answer(stream, &Vector{Status: http.StatusOK, Type: media, Text: string(content)})
		} else {
			err = w.answer(stream, s.arrived(address, request["idempotency-key"]))
		}
		if err != nil || out.Flush() != nil {
			return
		}
	}
}

// next reads a frame, and returns the stream whose request has come to its end, or 0.
func (w *wire2) next() (uint32, error) {
	frame, err := w.ReadFrame()
	if err != nil {
		return 0, err
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return 0, nil
		}
		if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
			w.initial = int64(size)
		}
		if err := w.WriteSettingsAck(); err != nil {
			return 0, err
		}
	case *http2.PingFrame:
		if err := w.WritePing(true, f.Data); err != nil {
			return 0, err
		}
	case *http2.WindowUpdateFrame:
		w.windows[f.StreamID] += int64(f.Increment)
	case *http2.HeadersFrame:
		fields, err := w.decoder.DecodeFull(f.HeaderBlockFragment())
		if err != nil {
			return 0, err
		}
		w.open[f.StreamID] = map[string]string{}
		w.windows[f.StreamID] += w.initial
		for _, field := range fields {
			w.open[f.StreamID][field.Name] = field.Value
		}
		if f.StreamEnded() {
			return f.StreamID, nil
		}
	case *http2.DataFrame:
		if f.StreamEnded() {
			return f.StreamID, nil
		}
	}
	return 0, w.out.Flush()
}

// answer writes an answer. An error ends the connection.
func (w *wire2) answer(stream uint32, v *Vector) error {
	body := v.body()
	if v.Cut == "header" {
		return w.breakOff(stream, v.By)
	}
	if err := w.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headerBlock(v, len(body)), EndHeaders: true}); err != nil {
		return err
	}
	sent, whole := v.sent(body)
	for len(sent) > 0 {
		n := min(int64(len(sent)), frameBytes, w.windows[0], w.windows[stream])
		if n <= 0 {
			if err := w.out.Flush(); err != nil {
				return err
			}
			if _, err := w.next(); err != nil {
				return err
			}
			continue
		}
		w.windows[0] -= n
		w.windows[stream] -= n
		if err := w.WriteData(stream, whole && n == int64(len(sent)), sent[:n]); err != nil {
			return err
		}
		sent = sent[n:]
	}
	if !whole {
		return w.breakOff(stream, v.By)
	}
	return nil
}

func headerBlock(v *Vector, length int) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.WriteField(hpack.HeaderField{Name: ":status", Value: fmt.Sprint(v.Status)}) //nolint:errcheck // into memory.
	for _, field := range v.header(length) {
		encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) //nolint:errcheck // into memory.
	}
	return block.Bytes()
}

// breakOff writes what comes in the place of the rest. An error ends the connection.
func (w *wire2) breakOff(stream uint32, by string) error {
	defer w.out.Flush() //nolint:errcheck // the next frame tells.
	w.AllowIllegalWrites = true
	switch by {
	case "internal-error":
		return w.WriteRSTStream(stream, http2.ErrCodeInternal)
	case "refused-stream":
		return w.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
	case "end-stream":
		return w.WriteData(stream, true, nil)
	case "goaway":
		return w.WriteGoAway(0, http2.ErrCodeInternal, nil)
	case "settings-on-stream":
		return w.WriteRawFrame(http2.FrameSettings, 0, stream, nil)
	case "data-on-connection":
		return w.WriteRawFrame(http2.FrameData, 0, 0, []byte("x"))
	case "bad-hpack":
		return w.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, stream, bytes.Repeat([]byte{0xff}, 12))
	case "window-update-0":
		return w.WriteRawFrame(http2.FrameWindowUpdate, 0, stream, make([]byte, 4))
	case "too-large":
		return w.WriteRawFrame(http2.FrameData, 0, stream, make([]byte, 1<<15))
	case "push-promise":
		return w.WriteRawFrame(http2.FramePushPromise, http2.FlagPushPromiseEndHeaders, stream, []byte{0, 0, 0, 2, 0x88})
	}
	return io.ErrUnexpectedEOF // the connection closes
}

// unescaped returns the path of a target.
func unescaped(target string) string {
	at, err := url.ParseRequestURI(target)
	if err != nil {
		return target
	}
	return at.Path
}

func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
