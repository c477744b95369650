package source

import "strings"

// curlOption is the effect of one of curl's options.
type curlOption struct {
	takes bool // has a value
	// does changes the request. An option without it is left out and noted.
	does func(c *command, value string)
	// refuse says why a request with the option cannot be followed, and what to do.
	refuse string
}

func curlOptions() map[string]curlOption {
	all := map[string]curlOption{}
	for names, does := range requestOptions() {
		put(all, names, curlOption{takes: true, does: does})
	}
	for names, does := range reachOptions() {
		put(all, names, curlOption{takes: true, does: does})
	}
	for names, does := range requestSwitches() {
		put(all, names, curlOption{does: func(c *command, _ string) { does(c) }})
	}
	put(all, ignoredSwitches, curlOption{})
	put(all, ignoredOptions, curlOption{takes: true})
	for names, why := range refusedOptions() {
		put(all, names, curlOption{refuse: why})
	}
	return all
}

func put(all map[string]curlOption, names string, o curlOption) {
	for name := range strings.FieldsSeq(names) {
		all[name] = o
	}
}

func requestOptions() map[string]func(*command, string) {
	data := func(kind dataKind) func(*command, string) {
		return func(c *command, v string) { c.data = append(c.data, piece{kind, v}) }
	}
	return map[string]func(*command, string){
		"-X --request":     func(c *command, v string) { c.method = v },
		"-H --header":      func(c *command, v string) { c.header = append(c.header, v) },
		"-d --data":        data(dataPlain),
		"--data-ascii":     data(dataPlain),
		"--data-raw":       data(dataRaw),
		"--data-binary":    data(dataBinary),
		"--data-urlencode": data(dataEncode),
		"--json":           data(dataJSON),
		"-F --form":        func(c *command, v string) { c.form = append(c.form, formField{text: v}) },
		"--form-string":    func(c *command, v string) { c.form = append(c.form, formField{text: v, literal: true}) },
		"-T --upload-file": func(c *command, v string) { c.upload = v },
		"-u --user":        func(c *command, v string) { c.user = v },
		"--oauth2-bearer":  func(c *command, v string) { c.bearer = v },
		"-b --cookie":      func(c *command, v string) { c.cookie = append(c.cookie, v) },
		"-A --user-agent":  func(c *command, v string) { c.agent = v },
		"-e --referer":     func(c *command, v string) { c.referer = v },
		"-r --range":       func(c *command, v string) { c.header = append(c.header, "Range: bytes="+v) },
		"--url":            func(c *command, v string) { c.url = append(c.url, v) },
		"--url-query":      func(c *command, v string) { c.query = append(c.query, v) },
	}
}

func requestSwitches() map[string]func(*command) {
	return map[string]func(*command){
		"-G --get":      func(c *command) { c.get = true },
		"-I --head":     func(c *command) { c.head = true },
		"-g --globoff":  func(c *command) { c.globOff = true },
		"-k --insecure": func(c *command) { c.reach.Insecure = true },
	}
}

func reachOptions() map[string]func(*command, string) {
	return map[string]func(*command, string){
		"--cacert":  func(c *command, v string) { c.reach.CACert = v },
		"-E --cert": func(c *command, v string) { c.reach.Cert = v },
		"--key":     func(c *command, v string) { c.reach.Key = v },
	}
}

// Options about the connection, the answer and the terminal.
const (
	ignoredSwitches = `
		-s --silent -S --show-error -v --verbose -i --include --show-headers -L --location --location-trusted
		-f --fail --fail-with-body --fail-early -# --progress-bar --progress-meter --no-progress-meter
		-N --no-buffer --buffer -O --remote-name --remote-name-all -J --remote-header-name -R --remote-time
		-0 --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --http3-only --http0.9 -4 --ipv4 -6 --ipv6
		-1 --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 -2 --sslv2 -3 --sslv3 --ssl --ssl-reqd --ssl-allow-beast
		--ssl-no-revoke --ssl-revoke-best-effort --cert-status --false-start --alpn --npn --sessionid
		--compressed --tr-encoding --raw --path-as-is --basic --create-dirs --clobber --remove-on-error
		--tcp-nodelay --tcp-fastopen --keepalive --no-keepalive --no-sessionid --no-alpn --no-npn --no-clobber
		-Z --parallel --parallel-immediate --post301 --post302 --post303 --retry-all-errors --retry-connrefused
		--styled-output --trace-time --trace-ids --disallow-username-in-url -q --disable -j --junk-session-cookies
		--form-escape --metalink --suppress-connect-headers --ca-native --xattr --doh-cert-status -a --append`
	ignoredOptions = `
		-o --output --output-dir -m --max-time --connect-timeout --expect100-timeout --happy-eyeballs-timeout-ms
		--retry --retry-delay --retry-max-time -w --write-out -D --dump-header -c --cookie-jar --limit-rate --rate
		-y --speed-time -Y --speed-limit --max-redirs --max-filesize --keepalive-time --keepalive-cnt --stderr
		--trace --trace-ascii --trace-config --ciphers --tls13-ciphers --tls-max --curves --parallel-max
		--proto --proto-redir --noproxy --interface --local-port --dns-servers --dns-interface --doh-url
		--cert-type --key-type --engine --etag-save --alt-svc --hsts --libcurl --create-file-mode`
)

func refusedOptions() map[string]string {
	return map[string]string{
		"-: --next":   "begins another request: keep one",
		"-K --config": "reads options from a file: write them out",
		"--digest --ntlm --negotiate --anyauth --aws-sigv4": "needs new credentials for each request: " +
			"give the header Authorization, or a log-in",
		"-n --netrc --netrc-file --netrc-optional": "reads passwords from a file: write -u USER:PASSWORD",
		"--request-target":                         "sends a target other than the URL: put it into the URL",
		"-x --proxy --resolve --connect-to --unix-socket -U --proxy-user -p --proxytunnel" +
			" --socks4 --socks4a --socks5 --socks5-hostname --preproxy": "changes the way to the service, and semel check connects directly: leave it out",
		"--pass":   "gives the password of a key: use a key without one",
		"--capath": "names a folder of authorities: name a file with --cacert",
		"--etag-compare -z --time-cond -C --continue-at": "makes the request conditional: leave it out",
		"--variable":                         "sets a variable: write its value",
		"-h --help -V --version -M --manual": "sends nothing",
	}
}
