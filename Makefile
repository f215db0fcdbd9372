# Everything that one does with Reverie's source. `make` lists it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
PKG     ?= ./...
# Race-checked tests with databases are heavy: few packages at a time.
JOBS    ?= 2
TIMEOUT ?= 15m
FUZZTIME ?= 10s
# The SDKs are compiled without inlining and debugging data, and all with less collecting of
# garbage; -c says that this may be done on two threads. Ours is compiled as ever.
HEAVY   := google.golang.org/genai github.com/openai/openai-go/v3 github.com/anthropics/anthropic-sdk-go
# The race detector leaves some packages alone. Those of types are generated: watched,
# they take twice as long to compile. Those that only compute from what does not change have
# nothing to race for, and take ten times as long: half of what all tests computed.
TYPES   := k8s.io/... sigs.k8s.io/... github.com/google/gnostic-models/... github.com/chromedp/cdproto/...
COMPUTE := regexp/... time unicode/...
FAST    := -l -dwarf=false -c=2
QUICK   := -toolexec "env GOGC=200" $(HEAVY:%=-gcflags="%/...=$(FAST)") \
	$(TYPES:%=-gcflags="%=$(FAST) -race=false") $(COMPUTE:%=-gcflags="%=-race=false")

.PHONY: help setup build demo eval eval-local test lint cover bench bench-compare torture fuzz clients clients-python fresh screenshots notices man snapshot clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install PostgreSQL and pgvector where they are missing
	@scripts/setup.sh

build: ## build bin/reverie, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "-s -w -X reverie/cmd/reverie/command.Version=$(VERSION)" -o bin/reverie ./cmd/reverie

demo: setup build ## set up, build, and show a sample chat, without a model or key
	@bin/reverie demo

eval: setup build ## play the scenarios with their recorded answers (EVAL="--llm gemini" for a model)
	@bin/reverie eval internal/eval/scenarios $(or $(EVAL),--recorded)

eval-local: setup build ## play the scenarios with a small model on this machine (EVAL="--scenario zh-*" for some)
	@scripts/eval_local.py -- $(EVAL)

# The vetting is left to make lint, which vets everything. Without GORACE each test
# binary would wait a second as it ends.
test: ## set up and run all tests with the race detector (PKG=./store for some)
	@scripts/setup.sh --compiler --browser
	@echo "testing $(PKG) with -race, $(JOBS) packages at a time"
	@CGO_ENABLED=1 GORACE="atexit_sleep_ms=0 $${GORACE:-}" $(GO) test -race -vet=off $(QUICK) -p $(JOBS) -timeout $(TIMEOUT) $(PKG) 2>&1 | awk -f scripts/summary.awk

# Compiled as make build does, so that what both need is compiled once.
lint: ## check the format, and what vet and staticcheck find
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not in gofmt's format:"; echo "$$unformatted"; exit 1; fi
	CGO_ENABLED=0 $(GO) vet -trimpath ./...
	CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath" $(GO) tool staticcheck ./...
	@for script in $$(find . -name '*.sh' -not -path './.git/*') .ci/run; do bash -n "$$script"; done
	@echo "lint: gofmt, go vet, staticcheck and the scripts' syntax are clean"

cover: setup ## print how much of the code the tests cover
	@$(GO) test -p $(JOBS) -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=cover.out ./... 2>&1 | awk -f scripts/summary.awk
	@$(GO) tool cover -func=cover.out | tail -n 1

bench: setup ## measure, and write docs/benchmarks.txt (about 20 minutes; BENCH="-only nightly" for a part)
	@exec test/bench/run.sh $(BENCH)

# The benchmarks are those of both; both sides run in turns, six times each.
bench-compare: setup ## compare with another revision by benchstat (BASE=HEAD~3, PKG=./store BENCH=Search for others)
	@if [ -z "$(BASE)" ]; then echo "make bench-compare: compare with what? Write make bench-compare BASE=HEAD~1, or a tag or a commit" >&2; exit 2; fi
	@exec test/bench/run.sh -compare "$(BASE)" $(if $(filter-out ./...,$(PKG)),-pkg $(PKG)) $(if $(BENCH),-bench '$(BENCH)')

# The ordeals start other binaries, and read what they print: the report comes last.
torture: ## break the binary on purpose in every way, and audit what is left (SHORT=1 for a sample of each)
	@scripts/setup.sh --compiler
	@CGO_ENABLED=1 GORACE="atexit_sleep_ms=0 $${GORACE:-}" $(GO) test -tags torture -race -vet=off $(QUICK) -v -count=1 -timeout 60m \
		-run '^TestTorture$$' $(if $(SHORT),-short) ./test/e2e

man: ## write the man pages into bin/man
	@$(GO) run ./scripts/man bin/man

# Without syft there are no SBOMs, and without a remote nothing to check against.
snapshot: ## check .goreleaser.yaml and build what a release has, into dist/ (needs goreleaser)
	@command -v goreleaser >/dev/null || { echo "make snapshot: there is no goreleaser: install it by go install github.com/goreleaser/goreleaser/v2@latest" >&2; exit 2; }
	goreleaser check
	goreleaser release --snapshot --clean $$(command -v syft >/dev/null || echo --skip=sbom)

notices: ## write THIRD_PARTY_NOTICES.txt from the modules of the binary
	@scripts/notices.sh

# Each waits much, for packages and for servers that start: -j2 does both at once.
clients: clients-python clients-typescript ## check the clients and the examples that use them (-j2 for both at once)

.PHONY: clients-setup clients-typescript
clients-setup:
	@scripts/setup.sh --clients

clients-python: clients-setup build ## check the Python client, its wheel and its examples (ASTRBOT=1 for AstrBot's, too)
	@clients/python/check.sh

# Types, tests against the binary, and the pack. The examples use the client as it was built.
TYPESCRIPT := clients/typescript examples/koishi examples/discord.js
clients-typescript: export PATH := $(CURDIR)/bin/node/bin:$(PATH)
clients-typescript: clients-setup build ## check the TypeScript client and its examples
	@printf '%s\n' $(TYPESCRIPT) | xargs -P 3 -I % npm ci --prefix % --no-audit --no-fund --loglevel=error
	@for folder in $(TYPESCRIPT); do echo "=== $$folder"; npm run check --prefix "$$folder"; done

fuzz: setup ## fuzz each fuzz test for FUZZTIME (10s)
	@for pkg in $$($(GO) list $(PKG)); do \
		names=$$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); \
		for name in $$names; do \
			echo "fuzzing $$pkg $$name"; \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
		done; \
	done

fresh: ## do make demo and make test as on a new machine: a clone, an empty home, empty caches
	@scripts/fresh.sh

screenshots: ## take pictures of the operator's page into bin/screenshots, and those of docs/page.md anew
	@scripts/setup.sh --browser
	REVERIE_SCREENSHOTS=$(CURDIR)/bin/screenshots $(GO) test -count=1 -run 'TestBrowser/every' ./internal/api/web
	@for picture in docs/page/*.png; do cp "bin/screenshots/$$(basename "$$picture")" docs/page/; done

clean: ## remove what was built, but no data
	rm -rf bin dist cover.out
