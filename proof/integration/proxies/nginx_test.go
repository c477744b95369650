package proxies_test

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/testserver"
)

func nginx() *kind {
	return &kind{
		name: "nginx", language: "nginx",
		options: testserver.ProgramOptions{
			Program: "nginx", Hint: "apt-get install nginx-light", Account: "www-data", End: "TERM",
			Args: func(file string) []string { return []string{"-e", "stderr", "-c", file} },
		},
		reload: []string{"HUP"},
		frame: func(s *settings, directives string) string {
			return strings.ReplaceAll(`
daemon off;
worker_processes 2;
pid DIR/pid;
error_log stderr info;
events { worker_connections 512; }
http {
	access_log off;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
`, "DIR", s.dir) + directives + "\n}\n"
		},
		listen: "listen 80",
		listenAt: func(s *settings) string {
			return fmt.Sprintf("add_header %s %d always;\n\tlisten 127.0.0.1:%d", generationHeader, s.generation, s.port)
		},
		plain:       nginxWith(""),
		eager:       nginxWith("proxy_next_upstream error timeout http_500 http_502 http_503 http_504 non_idempotent;"),
		buffering:   []string{"listen 80;", "listen 80;\n\tproxy_request_buffering on;\n\tproxy_buffering on;"},
		streaming:   []string{"listen 80;", "listen 80;\n\tproxy_request_buffering off;\n\tproxy_buffering off;"},
		secure:      []string{"listen 80;", "listen 80 ssl http2;\n\tssl_certificate " + tlsMark + ";\n\tssl_certificate_key " + tlsMark + ";", "http://semel", "https://semel"},
		http1Behind: true,
	}
}

func nginxWith(directive string) string {
	return `
upstream semel {
	server 127.0.0.1:8080;
	server 127.0.0.1:8082;
	keepalive 16;
}
server {
	listen 80;
	location / {
		proxy_pass http://semel;
		proxy_http_version 1.1;
		proxy_set_header Connection "";
		proxy_set_header Host $http_host;
		` + directive + `
	}
}`
}
