# `make` lists the targets. Each target installs what it needs, and says so; without the permission, it says what is
# missing.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GO ?= go
# A fixed version, so that the same sources give the same findings.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# It lists the tests that were skipped, and why.
TEST := $(GO) run gotest.tools/gotestsum@v1.13.0 --format standard-quiet --
export CGO_ENABLED ?= 0
# Some distributions set it. Unset, so that no test or measurement waits for debuginfod servers.
unexport DEBUGINFOD_URLS

.PHONY: help
help: ## list the targets
	@echo "heaptap: targets of make"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  %-16s %s\n", $$1, $$2 }'

.PHONY: build
build: ## build bin/heaptap (no C compiler needed)
	$(GO) build -trimpath -o bin/heaptap ./cmd/heaptap

.PHONY: install
install: build ## install heaptap, its library, headers and manual pages below PREFIX (/usr/local)
	install -D bin/heaptap $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/heaptap
	bin/heaptap agent --install $(DESTDIR)$(or $(PREFIX),/usr/local)/lib/heaptap
	install -d $(DESTDIR)$(or $(PREFIX),/usr/local)/include/heaptap/compat
	install -m 644 include/heaptap/*.h include/heaptap/*.hpp $(DESTDIR)$(or $(PREFIX),/usr/local)/include/heaptap
	install -m 644 include/heaptap/compat/*.h $(DESTDIR)$(or $(PREFIX),/usr/local)/include/heaptap/compat
	install -d $(DESTDIR)$(or $(PREFIX),/usr/local)/share/man/man1
	bin/heaptap man -o $(DESTDIR)$(or $(PREFIX),/usr/local)/share/man/man1

.PHONY: demo
demo: ## record a small program, and sqlite3 or python3 if there, and show the report
	@tools/setup.sh demo
	@$(MAKE) --no-print-directory build
	@tools/demo.sh bin/heaptap

.PHONY: picture
picture: build ## draw the README's picture, docs/example/bookshop.svg, from a recording
	tools/picture.sh bin/heaptap

.PHONY: pictures
pictures: ## take the pictures of the web app's pages, docs/ui, which CI compares
	tools/setup.sh test
	$(GO) test ./tests/browser -run '^TestPictures$$' -count=1 -update

.PHONY: agent
agent: ## build the agent's library from its C sources and note what it was built from
	tools/agent.sh build

.PHONY: ui
ui: ## build the web app, ui/dist, from its sources (needs node and npm)
	tools/ui.sh build

.PHONY: lint
lint: ## check form and suspicious code in Go, C, TypeScript and shell; check what is built and committed
	tools/setup.sh lint
	@echo "gofmt"; test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	$(GO) vet ./...
	$(GO) vet -tags programs ./...
	$(GO) run $(STATICCHECK) ./...
	@echo "clang-format"; git ls-files '*.c' '*.h' '*.hpp' '*.cc' '*.cpp' | xargs clang-format --dry-run -Werror
	@echo "columns"; tools/columns.sh
	@echo "shellcheck"; git ls-files '*.sh' .ci/run | xargs shellcheck
	tools/agent.sh check
	tools/demo/build.sh check
	tools/ui.sh check

PACKAGES = $(GO) list ./... | grep -v /tests/
# Tests of whole commands, which take 4.5 times as long with -race.
COMMANDS = ^Test(Script|Messages|FlagMessages|Extremes|ExtremeExports|DeepRecursion|Torture)$$
# Packages in which something runs at once.
CONCURRENT = $(GO) list -f '{{.ImportPath}} {{.Dir}}' $$($(PACKAGES)) | while read -r package dir; do \
	if grep -qE '^\s*go (func|[a-z.]+\()|\.Go\(|"sync(/atomic)?"' "$$dir"/*.go; then echo "$$package"; fi; done

.PHONY: test
test: ## run all tests but the large ones (at most 15 minutes on 2 cores)
	tools/setup.sh test
	# -race takes several times as long and finds nothing in packages without concurrency: those run without it.
	# The programs of tests/ only start others and read their results. Go does not know which programs they start,
	# so their results must not be cached.
	# tests/exports takes longest, and begins first.
	# make lint runs go vet: here it would only take time.
	# Whole commands run here without -race, in test-nightly with it. With it, internal/recording tries fewer inputs
	# than without it, so it runs twice.
	failed=; race=$$($(CONCURRENT)); \
	CGO_ENABLED=1 $(TEST) -vet=off -race -timeout 50m -skip '$(COMMANDS)' $$race || failed=1; \
	$(TEST) -vet=off -timeout 50m -run '$(COMMANDS)' ./cmd/heaptap || failed=1; \
	$(TEST) -vet=off -timeout 50m ./internal/recording $$($(PACKAGES) | grep -vxF "$$race") || failed=1; \
	log=$$(mktemp); agent/test/run.sh >"$$log" 2>&1 & agent=$$!; \
	$(TEST) -vet=off -count=1 -timeout 50m ./tests/exports \
		$$($(GO) list ./tests/... | grep -v '/tests/exports$$') || failed=1; \
	wait $$agent || failed=1; cat "$$log"; rm "$$log"; \
	[ -z "$$failed" ]

# BARE: demo or test, or both.
.PHONY: bare
bare: ## make demo and make test on a bare Debian root (debootstrap), as root; BARE=demo
	tools/bare.sh $(BARE)

.PHONY: test-nightly
test-nightly: ## all packages with and without the race detector, then torture-inputs (hours)
	tools/setup.sh test
	failed=; \
	CGO_ENABLED=1 $(TEST) -race -count=1 -timeout 2h $$($(PACKAGES)) || failed=1; \
	$(TEST) -count=1 -timeout 2h $$($(PACKAGES)) || failed=1; \
	[ -z "$$failed" ]
	$(MAKE) --no-print-directory torture-inputs

.PHONY: test-programs
test-programs: ## record large real programs and compare with independent tools; writes pages of docs/
	tools/setup.sh programs
	$(GO) run ./tests/programs/run -o docs/test-programs.md
	$(GO) run ./tests/programs/time -o docs/time.md
	$(GO) run ./tests/programs/unbiased -o docs/sampling.md
	SYMBOLS_PAGE=$(CURDIR)/docs/symbols.md $(GO) test -tags programs -count=1 -timeout 40m ./tests/symbols

# TORTURE: -torture-time 0 gives all files (two hours on 2 cores); -torture-seed N begins elsewhere; -torture-keep DIR.
.PHONY: torture-inputs
torture-inputs: ## give damaged and forged files to every command, for an hour; TORTURE="-torture-seed 2"
	tools/setup.sh test
	nice $(GO) test ./cmd/heaptap -run '^TestTorture$$' -count=1 -timeout 12h -v \
		-torture -torture-time 60m $(TORTURE)

.PHONY: mutate
mutate: ## plant faults, one at a time, and list those that no test finds (an hour); MUTATE="-only REGEXP"
	nice $(GO) run ./tools/mutate $(MUTATE)

# GOLDEN: -only NAME takes fewer programs; -keep DIR keeps the recordings. It takes minutes.
.PHONY: golden
golden: ## compare the answers, texts and recordings of another build, BEFORE=PATH, with this one
	$(GO) run ./tests/golden -before $(BEFORE) $(GOLDEN)

.PHONY: bench
bench: ## measure what recording costs, beside the rivals; results into docs/performance.md
	tools/setup.sh bench
	$(GO) run ./bench -o docs/performance.md

.PHONY: bench-rivals
bench-rivals: ## measure rivals too slow for bench, on a tenth of the input; writes docs/performance.md
	tools/setup.sh bench
	$(GO) run ./bench -slow -o docs/performance.md

.PHONY: bench-big
bench-big: ## record 10^9 events (minutes) and measure what a big recording answers; writes docs/performance.md
	tools/setup.sh bench
	$(GO) run ./bench -big 1e9 -o docs/performance.md

.PHONY: bench-short
bench-short: ## measure a script of short commands (half a minute); writes docs/performance.md
	tools/setup.sh bench
	$(GO) run ./bench -short -o docs/performance.md

.PHONY: bench-all
bench-all: ## measure what recording costs in all, beside heaptrack (minutes); writes docs/performance.md
	tools/setup.sh bench
	$(GO) run ./bench -all -o docs/performance.md

.PHONY: bench-stages
bench-stages: ## measure where the time beside the target goes (minutes; needs perf); writes docs/performance.md
	tools/setup.sh bench
	$(GO) run ./bench -stages -o docs/performance.md

.PHONY: bench-replay
bench-replay: ## run programs on four allocators, and compare with heaptap replay (minutes)
	tools/setup.sh bench
	RANKING=1 $(GO) test ./tests/replay -run '^(TestRanking|TestWhatIf)$$' -count=1 -v

# UI: other recordings. Those that it makes, of 10^6 to 10^9 events, stay in bin/recordings until make clean.
.PHONY: bench-ui
bench-ui: ## measure the web app (13 minutes, and some to record); UI="FILE..."; writes docs/performance.md
	tools/setup.sh bench
	tools/ui.sh install
	$(GO) run ./bench -o docs/performance.md -ui -recordings bin/recordings $(UI)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
