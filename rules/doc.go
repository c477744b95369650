// Package rules reads the rules file: how the requests to each endpoint are
// made safe to send twice, and what may exist only once in the database. The
// format, with examples, is in docs/rules.md; [Schema] is for editors.
//
// The file is YAML and read strictly: an unknown key, a value of the wrong
// kind, settings that contradict each other and routes that match the same
// requests are errors, all of them reported at once, each with file, line,
// column and what to do. Anchors, aliases and tags are not read.
//
//	version: 1                # required
//	routes:
//	  - name: payments        # required, unique; logs and metrics show it
//	    match:
//	      methods: [POST]     # default POST and PATCH
//	      host: api.shop.test # default: any host; without port
//	      path: /orders/{order}/payments
//	      query: {do: [save, draft]}           # conditions: every one has to hold
//	      header: {Next-Action: {present: true}}
//	      form: {action: save}                 # a field of an urlencoded or multipart form; or
//	      json: {/operationName: CreateOrder}  # a member of a JSON body, by its pointer
//
// # Which route
//
// Paths are patterns of net/http.ServeMux: {name} is one segment, {name...}
// the rest of the path, a slash at the end means everything below, {$} the end.
// The most specific route counts, whatever the order in the file; two that
// match the same requests without one of them being more specific are an
// error. Paths are compared after dot segments and double slashes were
// resolved. A request that no route matches is treated as without a file:
// every POST and PATCH that carries an Idempotency-Key is protected. A route
// for "/{rest...}" changes that.
//
// Routes of one path differ in conditions: a text, a list of texts of which one
// must be there, or {present: true} for any. In json, values are texts, numbers, true
// or false, and "1" is not 1. The route with more conditions is tried first, or with
// fewer values. Of two routes, one must have all conditions of its rival and more, or
// they must exclude each other by different values of one name; anything else is an
// error. A request that meets none of them goes on as if these routes were not there,
// to the route of the path without conditions or to a less specific path.
//
// A condition holds if all values of its name are allowed, and fails if none is. If
// applications could disagree, the request is refused (400 ambiguous-request):
//
//	?do=save&do=show, ?Do=save, ?do[]=save      two values, or a name that some read so
//	X-Kind: small, big                          a header that some read as a list
//	a JSON member twice, JSON that is broken or longer than 8 MiB
//	a form that is not well encoded, or whose parts can be cut or named in two ways
//	a value in a file, a form without a content type, a "#" in the query
//	a body that is compressed, or in another charset than UTF-8
//	JSON in a body that says that it is text or a form
//
// Bodies are read only where a condition about them decides, before anything else is
// done, and up to the largest body_limit of the path's routes (413 beyond it). JSON in
// a field of a multipart form is not looked into; a GraphQL batch is a list, whose
// first operation is /0/operationName. So let the route without conditions protect,
// and exempt by conditions what only reads: a request that is not recognised is then safe.
//
//	preset: payments          # for effects that must not be repeated on a guess: on_5xx:
//	                          # unknown, retention: 72h, problem_format: stripe; wants
//	                          # unknown.reconcile
//	protect: false            # default true; false: such requests pass untouched,
//	                          # and nothing below may be said
//
// # Whose key, and which
//
//	key:                      # default {header: Idempotency-Key}; exactly one of:
//	  header: Idempotency-Key
//	  json_pointer: /id       # in a JSON body
//	  form_field: token       # in a form body
//	  webhook_id: true        # the webhook-id header of Standard Webhooks, which the upstream verifies
//	  webhook:                # what the sender signed; the gateway verifies it, and the scope is the route
//	    scheme: standard      # Standard Webhooks; or stripe, github
//	    secret_env: [SHOP_WEBHOOK_SECRET]  # the variables that hold the secrets, up to 8; or
//	    secret_file: hooks.secrets         # a file with one per line
//	    tolerance: 5m         # how far the time of a signature may be from now
//	    event: /id            # the event's name in the signed body, or body for all of it;
//	                          # default /id of stripe, body of github
//	    redelivery: 4d        # when the sender has given up; the retention is 7d unless written
//	  derive:                 # a hash of what was sent, for callers without keys
//	    fields: [customer, amount]  # form fields; JSON pointers start with a slash;
//	                                # without fields the whole body counts
//	    cookies: [sessionid]
//	    headers: [X-Device]
//	    window: 10s           # the same content within it after the first is the same intent
//	required: true            # default false: a request without a key passes untouched
//	scope:                    # what distinguishes callers; the first that a request has
//	  - header: Authorization # default: Authorization, else a verified client certificate,
//	  - cookie: sessionid     # else a well-known session cookie ([SessionCookies]), else anonymous
//	  - client_certificate: true
//	  - constant: shared      # last, if at all: a request with none of these is refused
//
// # How long
//
//	retention: 72h            # how long an outcome is remembered; default 24h
//	unknown_retention: 72h    # how long an unknown one is; default as retention, at least 24h
//	wait: 5s                  # how long a duplicate waits for the first; 0s for not at all
//	lease: 30s                # how long a claim is held unless renewed; renewed every third
//	max_run: 15m              # how long a request may run
//
// Time spans have a unit: ms, s, m, h, d. Sizes too: B, KiB, MiB, GiB, KB, MB, GB.
//
// # What is kept, and what happens when the outcome is unknown
//
//	mode: idempotent          # or dedup: a duplicate is only stopped, no answer is kept
//	body_limit: 64MiB         # a larger request is refused
//	response_limit: 1MiB      # a larger answer is not kept (a retry learns that, and is not run)
//	canonical_json: true      # white space and member order do not make a JSON body another
//	fingerprint_headers: [X-Tenant]  # a repetition with another value is another request; so is
//	                          # always one with other preconditions or another method override
//	on_5xx: release           # an answer of 500 or above: release (nothing happened, a retry
//	                          # runs; but 502, 504 and other words of proxies for an answer
//	                          # that they did not get are unknown), store (a retry gets it) or
//	                          # unknown
//	released_when:            # answers that mean that nothing happened, in addition to 401, 403,
//	                          # 429 and the like, and to redirects to a sign-in page
//	  status: [409]           # 200 to 599; default: redirects, or 200 to 299 with one of:
//	  header: Grpc-Status     # a header of the answer
//	  json_pointer: /errors/0/extensions/code  # a place in its body, of up to 64 KiB
//	  equals: [THROTTLED]     # the values there; default: any but null, false, 0 and what is empty
//	  location: "/{lang}/anmelden"  # path patterns as in match; default: any answer
//	released_when: none       # keep redirects to a sign-in page as outcomes
//	in_flight_status: 409     # or 503, for clients that give up at 409: while the first runs
//	problem_format: problem   # or stripe: refusals also have what the SDKs of Stripe look for
//	fail_open: false          # true: run unprotected while the store cannot be reached
//	unknown: refuse           # the outcome is unknown (the upstream died, the gateway died):
//	                          # refuse (an operator resolves it), rerun, or ask the upstream:
//	unknown:
//	  reconcile:
//	    get: "/payments/by-key/{key}"     # with the caller's Authorization and cookies;
//	                                      # {key} {wildcard} {json:/pointer} {form:field},
//	                                      # of what the key holds: with derive.fields those
//	                                      # fields, with form none that is ignored
//	    happened_when: {status: 200, json_pointer: /state, equals: paid}
//	    not_happened_when: {status: 404}  # default; anything else stays unknown
//	    absent_after: 1m      # believed only so long after it was given up; default 1m
//	    replay:               # what the caller gets when it happened
//	      status: 201         # default: the status of the answer to get
//	      location: "/payments/{answer:/id}"
//	      body: true          # default: the body of the answer to get
//	    background:           # ask without waiting for a retry; get and location may then
//	                          # use {key} and {wildcard} only
//	      authorization_env: SHOP_AUTHORIZATION  # the variable that holds the gateway's own
//	                                             # Authorization header; left out: none
//
// # Whether the caller may still see the answer
//
// The first attempt is authorised by the upstream, which sees it. A repetition
// is answered from the store, to a caller with the same credentials. Where the
// upstream may have withdrawn the right since, have it say so:
//
//	authorize:                # asked before a repetition is answered
//	  get: "/session"         # with the caller's Authorization, cookies and headers named in
//	                          # scope; 2xx: answered; 401 and 403 are passed on; anything
//	                          # else: 503. {key} {wildcard} {json:/pointer} {form:field}
//
// # Forms of web pages
//
// Browsers send no keys. Where a rule says form, the gateway adds a hidden field
// with a token to the forms that lead to the route, in every page that passes,
// and the token is the key. A request without one is treated as key says, so
// that programs can still send theirs; required then refuses what has neither.
// With key.derive as well, retention applies to forms and to keys in Idempotency-Key,
// and the window to the rest.
//
//	form: true                # default false; or:
//	form:
//	  field: _semel           # the hidden field; the application never sees it
//	  lifetime: 24h           # how long a page can be sent; default and most: the retention
//	  script: true            # add the guard script, for double clicks and retries
//	  ignore: [csrf_token]    # fields that change with every rendering of the page;
//	                          # default: those of well-known frameworks
//	  passwords: false        # true: give a token to forms that ask for a password
//	  restore_redirect: false # true: an answer that is a page becomes a redirect to
//	                          # that page, so that a reload sends nothing
//	  texts:                  # for people, in place of Semel's: a text, or one by language
//	    saving: {en: Saving the invoice…, sv: Fakturan sparas…}
//	    duplicate: The invoice had been saved already.
//
// # Requests of scripts
//
// Where a rule says page, the gateway adds one script to every page of the host,
// which gives a key to each request that scripts of the page send to the route
// without one. It goes by headers, so the key is in one, or derived: a key that is
// present wins over a derived one. A request without a key is treated as without page.
//
//	page: true                # default false; or:
//	page:
//	  ignore: [nonce]         # members of JSON and fields that change with every sending
//	  graphql: true           # the requests are operations of GraphQL: queries get no key;
//	                          # default: the script tells by their content
//
// # What exists only once
//
// A uniqueness rule says which rows of a table are the same thing, and what a
// second one gets. Package schema/verify holds the live database against it,
// schema/internal/plan writes the index, dbguard tells conflicts in its words.
package rules
