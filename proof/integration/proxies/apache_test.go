package proxies_test

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/testserver"
)

const apacheModules = "mpm_event authz_core unique_id headers env ssl http2 proxy proxy_http proxy_http2 proxy_balancer lbmethod_byrequests slotmem_shm"

func apache() *kind {
	return &kind{
		name: "Apache", language: "apache",
		options: testserver.ProgramOptions{
			Program: "apache2", Hint: "apt-get install apache2", Account: "www-data", End: "TERM",
			Args: func(file string) []string { return []string{"-D", "FOREGROUND", "-f", file} },
		},
		reload: []string{"USR1"},
		frame: func(s *settings, directives string) string {
			var text strings.Builder
			for module := range strings.FieldsSeq(apacheModules) {
				fmt.Fprintf(&text, "LoadModule %s_module /usr/lib/apache2/modules/mod_%[1]s.so\n", module)
			}
			fmt.Fprintf(&text, `
ServerName app.test
ServerRoot %s
DefaultRuntimeDir %[1]s
PidFile %[1]s/pid
ErrorLog /dev/stderr
LogLevel info
Listen 127.0.0.1:%d
Header always set %s %d
`, s.dir, s.port, generationHeader, s.generation)
			return text.String() + directives + "\n"
		},
		listen:    "*:80>",
		listenAt:  func(s *settings) string { return fmt.Sprintf("127.0.0.1:%d>", s.port) },
		plain:     apacheWith(""),
		eager:     apacheWith("ping=200ms"),
		buffering: []string{"*:80>", "*:80>\n\tSetEnv proxy-sendcl 1"},
		streaming: []string{"*:80>", "*:80>\n\tSetEnv proxy-sendchunked 1", "http://127.0.0.1:8080", "http://127.0.0.1:8080 flushpackets=on", "http://127.0.0.1:8082", "http://127.0.0.1:8082 flushpackets=on"},
		secure: []string{
			"*:80>", "*:80>\n\tSSLEngine on\n\tSSLCertificateFile " + tlsMark +
				"\n\tSSLProxyEngine on\n\tSSLProxyVerify none\n\tSSLProxyCheckPeerName off",
			"http://", "https://",
		},
		front:       []string{"Protocols http/1.1", "Protocols h2 http/1.1"},
		http1Behind: true, // h2:// sends again what it should not: TestTraps
	}
}

func apacheWith(parameter string) string {
	return `
<Proxy balancer://semel>
	BalancerMember http://127.0.0.1:8080 ` + parameter + `
	BalancerMember http://127.0.0.1:8082 ` + parameter + `
</Proxy>
<VirtualHost *:80>
	ProxyPreserveHost On
	ProxyPass / balancer://semel/
</VirtualHost>`
}
