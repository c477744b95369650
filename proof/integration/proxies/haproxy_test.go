package proxies_test

import (
	"fmt"

	"github.com/semel-dev/semel/internal/testserver"
)

func haproxy() *kind {
	return &kind{
		name: "HAProxy", language: "haproxy",
		options: testserver.ProgramOptions{
			Program: "haproxy", Hint: "apt-get install haproxy", Account: "haproxy", End: "TERM",
			Args: func(file string) []string { return []string{"-W", "-f", file} },
		},
		reload: []string{"USR2"},
		frame:  func(_ *settings, directives string) string { return directives + "\n" },
		listen: "bind :80",
		listenAt: func(s *settings) string {
			return fmt.Sprintf("http-response set-header %s %d\n\tbind 127.0.0.1:%d", generationHeader, s.generation, s.port)
		},
		plain:     haproxyWith(""),
		eager:     haproxyWith("option http-buffer-request\n\tretry-on all-retryable-errors"),
		buffering: []string{"bind :80", "option http-buffer-request\n\tbind :80"},
		streaming: []string{"bind :80", "option http-no-delay\n\tbind :80"},
		badHeader: true,
		secure: []string{
			"bind :80", "bind :80 ssl crt " + tlsMark + " alpn h2,http/1.1",
			firstUpstream, firstUpstream + " ssl verify none alpn h2", secondUpstream, secondUpstream + " ssl verify none alpn h2",
		},
	}
}

func haproxyWith(directive string) string {
	return `
defaults
	mode http
	timeout connect 5s
	timeout client 60s
	timeout server 60s
frontend web
	bind :80
	default_backend semel
backend semel
	option redispatch 1
	` + directive + `
	server one 127.0.0.1:8080
	server two 127.0.0.1:8082
`
}
