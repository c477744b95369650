package cutanswers

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
)

// chunkBytes is the length of the chunks of a body.
const chunkBytes = 64 << 10

// http1 answers the requests of one connection.
func (s *Server) http1(conn net.Conn) {
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		req, err := readRequest(in)
		if err != nil {
			return
		}
		if req.Method != http.MethodPost {
			media, content := s.page(req.URL.Path)
			_, _ = fmt.Fprintf(out, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", media, len(content), content)
			if out.Flush() != nil {
				return
			}
			continue
		}
		v := s.arrived(req.URL.Path, req.Header.Get("Idempotency-Key"))
		whole := writeHTTP1(out, v)
		if err := out.Flush(); err != nil || !whole || v.Framing == "close" {
			if tcp, ok := conn.(*net.TCPConn); ok && v.By == "reset" {
				tcp.SetLinger(0) //nolint:errcheck // then it closes in order.
			}
			return
		}
	}
}

// writeHTTP1 reports whether all was written.
func writeHTTP1(out *bufio.Writer, v *Vector) bool {
	body := v.body()
	head := fmt.Sprintf("HTTP/1.1 %03d %s\r\n", v.Status, http.StatusText(v.Status))
	for _, field := range v.header(len(body)) {
		head += field[0] + ": " + field[1] + "\r\n"
	}
	if v.Framing == "none" {
		body = nil
	}
	if v.Cut == "header" {
		head = head[:len(head)/2]
		if v.By == "garbage" {
			head = "\x16\x03\x01garbage\r\n\r\n"
		}
		out.WriteString(head) //nolint:errcheck // Flush tells.
		return false
	}
	out.WriteString(head + "\r\n") //nolint:errcheck // Flush tells.
	sent, whole := v.sent(body)
	if v.Framing != "chunked" {
		out.Write(sent) //nolint:errcheck // Flush tells.
		return whole
	}
	for len(sent) > 0 {
		n := min(len(sent), chunkBytes)
		promised := n
		if n == len(sent) && v.Cut == "half" {
			promised++ // the last chunk is cut as well
		}
		_, _ = fmt.Fprintf(out, "%x\r\n%s", promised, sent[:n])
		if promised == n {
			out.WriteString("\r\n") //nolint:errcheck // Flush tells.
		}
		sent = sent[n:]
	}
	if whole {
		out.WriteString("0\r\n\r\n") //nolint:errcheck // Flush tells.
	}
	return whole
}
