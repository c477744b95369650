package gateway

import (
	"net/http"
	"strings"
)

// refuseTunnel takes from an outgoing request what asks the upstream to speak
// HTTP, or to encrypt it, over the same connection: what came through such a
// tunnel would pass every rule unseen. Other upgrades, such as websocket, stay.
func refuseTunnel(out http.Header) {
	delete(out, "Http2-Settings")
	for _, line := range out["Upgrade"] {
		for protocol := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(protocol)), "/")
			switch name {
			case "h2c", "h2", "h3", "http", "https", "tls", "ssl", "spdy":
				delete(out, "Upgrade")
				delete(out, "Connection") // which net/http/httputil wrote for it
				return
			}
		}
	}
}
