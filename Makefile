# Everything a developer does here. `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help test test-long sizes slowest check lint shell sql arch tidy api licences fmt build demo model bench bench-stores bench-overload bench-scale races prove mutate compatibility rolling microbench fuzz vuln archives reproducible clean

TOOLS := .cache/bin
STREET = $(addsuffix /...,$(shell scripts/modules street))
FUZZTIME ?= 1m
FUZZ ?= .
ONLY ?= ^(middleware|files|gateway)$$
BENCH ?= .
MUTANT ?= .
REV ?=
FOR ?= 1m
SCRIPTS := scripts/* .ci/run internal/testserver/dbserver/keeper.sh examples/drills/*.sh
SCENARIOS ?=
COUNT ?= 1

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## our own packages, most with the race detector, and the pages in Chromium (seven minutes on two processors); as root on Debian it installs what is missing
	@scripts/prepare --without 'postgresql-17 postgresql-18 valkey rabbitmq nginx haproxy apache django httpx firefox webkit' scripts/test

test-long: ## the rest: Firefox, WebKit, proxies, brokers and other people's drivers, PostgreSQL 18, long races, random walks, the attacks of make prove for FOR (30s), SAMPLE (6) mutants
	@scripts/prepare --without 'postgresql-17 valkey' scripts/test long

sizes: ## how large the repository is (ARGS=builds: with the processor time of cold builds)
	@scripts/sizes $(ARGS)

slowest: ## the twenty slowest packages and tests of the last make test
	@scripts/slowest

check: ## linters (go vet is one of them), formatting, architecture, modules, shell scripts, SQL, API, licences; all of them even when one fails
	@$(MAKE) --no-print-directory --keep-going lint arch tidy shell sql api licences

lint: $(TOOLS)/stamp
	@$(TOOLS)/golangci-lint fmt --diff
	@failed=0; "$(CURDIR)/$(TOOLS)/golangci-lint" run $(STREET) || failed=1; \
	for module in $$(scripts/modules | grep -vxF "$$(scripts/modules street)"); do \
		echo "golangci-lint run in $$module"; \
		(cd $$module && "$(CURDIR)/$(TOOLS)/golangci-lint" run --config "$(CURDIR)/.golangci.yml" ./...) || failed=1; \
	done; exit $$failed

arch:
	go test -count=1 ./proof/archtest

tidy: ## the imports of every module against its go.mod, go.sum and go.work
	@sums() { git ls-files | grep -E '(^|/)go\.(mod|sum|work|work\.sum)$$' | xargs sha256sum; }; \
	before=$$(sums); scripts/tidy; [ "$$before" = "$$(sums)" ] || { echo "scripts/tidy changed what git diff shows: commit that"; exit 1; }

sql: ## Semel's own statements, by semel lint
	go run ./cmd/semel lint $(STREET) examples/orm examples/shop/services

api: $(TOOLS)/release-stamp ## what users can import against the newest release: a breaking change needs an entry in CHANGELOG.md
	@scripts/api

licences: $(TOOLS)/release-stamp ## every dependency has a licence that allows passing it on
	@scripts/licences check

shell:
	@if command -v shellcheck >/dev/null; then shellcheck $(SCRIPTS) && echo "shellcheck: fine"; \
	else for script in $(SCRIPTS); do bash -n $$script; done; \
		echo "shellcheck is not installed: only the syntax of scripts was checked"; fi

fmt: $(TOOLS)/stamp ## formats all Go files
	$(TOOLS)/golangci-lint fmt

build: ## bin/semel
	go build -o bin/semel ./cmd/semel

demo: ## the invoice application, unprotected and protected, side by side (ARGS=--once: without a browser)
	go run ./demo $(ARGS)

model: ## every state of the protocol, within a bound, against the ten promises (ARGS='-only clocks')
	go run ./proof/model $(ARGS)

bench: ## Semel against the bare work, as ratios (ONLY=middleware|files|gateway|gateway-shapes)
	go run -buildvcs=true ./proof/bench -only '$(ONLY)'

bench-stores: ## the network stores against the bare work on the same databases, as ratios
	@scripts/prepare --on-disk --only 'postgresql mariadb redis' go run -buildvcs=true ./proof/bench -only stores

bench-overload: ## ever more callers through the gateway on every store: the rate must not collapse
	@scripts/prepare --on-disk --only 'postgresql mariadb redis' go run -buildvcs=true ./proof/bench -only overload

bench-scale: ## what an intent costs on every store: processor time and bytes
	@scripts/prepare --on-disk --only 'postgresql mariadb redis' go run -buildvcs=true ./proof/bench -only '^scale$$'

races: ## races and kills at length: every guard with sixteen callers for each of thousands of keys, dedupe killed at every statement, flows killed a thousand times, logs cut short; the adapters with the race detector
	@scripts/prepare --only 'postgresql mariadb redis' env SEMEL_LONG=races go test -tags long -count 1 -timeout 60m -run 'Race|Kill|Writers|Random|PowerCut' ./dbguard/... ./schema/dedupe ./flow ./store/logstore
	@scripts/prepare --only 'postgresql mariadb redis rabbitmq nats' bash -ec 'for module in adapters/* store/natsstore; do (cd $$module && go test -race -count 1 ./...); done'

prove: ## kills processes and databases, cuts connections and moves clocks for FOR (1m), and judges every answer (SCENARIOS=regexp; soak/postgres with FOR=1h: nothing may grow)
	@scripts/prepare --only 'postgresql mariadb redis faketime' --start-nothing go run ./proof/prove -for $(FOR) -only '$(SCENARIOS)'

mutate: ## removes each mechanism in turn and checks whether a test notices (MUTANT=regexp, SAMPLE=n: so many at random)
	@scripts/prepare --only 'postgresql mariadb redis' go run ./proof/mutate -only '$(MUTANT)' -sample $(or $(SAMPLE),0)

compatibility: ## the tests on every server, proxy and browser that can be had here, into docs/compatibility.md (ARGS="-only 'PostgreSQL 18' -suite contract")
	@scripts/compatibility $(ARGS)

rolling: ## this version and another one (REV=) on one store: each replays what the other recorded
	@scripts/rolling $(REV)

microbench: ## the packages' own benchmarks (BENCH=regexp, COUNT=n)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 60m $(STREET)

fuzz: ## every fuzz target in turn, FUZZTIME (1m) each (FUZZ=regexp of a folder and a name; KEEP=1 keeps what it finds)
	@scripts/fuzz $(FUZZTIME) "$(FUZZ)"

vuln: $(TOOLS)/stamp ## known weaknesses in what we call; needs the network for the vulnerability database
	$(TOOLS)/govulncheck $(STREET)

archives: $(TOOLS)/release-stamp ## what a release publishes, in dist/, for six platforms
	@scripts/archives

reproducible: $(TOOLS)/release-stamp ## the archives built twice, from nothing, in two folders: they must not differ in a byte
	@scripts/reproducible

clean: ## removes what was built or downloaded here
	rm -rf .cache bin dist

$(TOOLS)/stamp: tools/go.mod tools/go.sum
	@echo "building the tools that tools/go.mod pins (once)"
	@mkdir -p $(TOOLS)
	@go build -C tools -o ../$(TOOLS)/ tool
	@touch $@

$(TOOLS)/release-stamp: tools/release/go.mod tools/release/go.sum
	@echo "building the tools that tools/release/go.mod pins (once)"
	@mkdir -p $(TOOLS)
	@go build -C tools/release -trimpath -o ../../$(TOOLS)/ tool
	@touch $@
