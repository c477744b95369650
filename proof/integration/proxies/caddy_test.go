package proxies_test

import (
	"fmt"

	"github.com/semel-dev/semel/internal/testserver"
)

func caddy() *kind {
	return &kind{
		name: "Caddy", language: "caddyfile",
		options: testserver.ProgramOptions{
			Program: caddyProgram, Account: "nobody", End: "KILL",
			Args: func(file string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
		},
		reload: []string{caddyProgram, "reload", "--adapter", "caddyfile", "--config", "{dir}/configuration", "--address", "unix/{dir}/admin.sock"},
		frame: func(s *settings, directives string) string {
			return fmt.Sprintf("{\n\tadmin unix/%s/admin.sock\n\tauto_https off\n\tpersist_config off\n}\n%s\n", s.dir, directives)
		},
		listen: "\n:80 {",
		listenAt: func(s *settings) string {
			return fmt.Sprintf("\n:%d {\n\tbind 127.0.0.1\n\theader %s %d", s.port, generationHeader, s.generation)
		},
		plain:     caddyWith(""),
		eager:     caddyWith("lb_try_duration 1s\n\t\tlb_retry_match method POST"),
		front:     []string{"\n\t\ttransport http {\n\t\t\tkeepalive off\n\t\t}", ""},
		buffering: []string{secondUpstream + " {", secondUpstream + " {\n\t\trequest_buffers 1MiB\n\t\tresponse_buffers 1MiB"},
		streaming: []string{secondUpstream + " {", secondUpstream + " {\n\t\tflush_interval -1"},
		secure: []string{
			"\n:80 {", "\n:80 {\n\ttls " + tlsMark + " " + tlsMark, firstUpstream, "https://" + firstUpstream, secondUpstream, "https://" + secondUpstream,
			"keepalive off", "versions 2\n\t\t\ttls_insecure_skip_verify",
		},
	}
}

func caddyWith(directives string) string {
	return `
:80 {
	reverse_proxy 127.0.0.1:8080 127.0.0.1:8082 {
		lb_policy round_robin
		` + directives + `
	}
}`
}
