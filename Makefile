# make help lists what there is.

PREFIX  ?= $(HOME)/.local
CLIENTS ?=
SIZES   ?=
RUNS    ?=
HOOKS   ?= 1
YES     ?= 0

BINDIR   := $(DESTDIR)$(PREFIX)/bin
PROGRAMS := reseat reseat-precompact reseat-directive reseat-runtime-claude reseat-runtime-codex
GOFLAGS_BUILD := -trimpath -ldflags "-s -w"

# Tools of make check, run from the module cache at these versions.
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  PREFIX=$(PREFIX)  where the programs go"
	@echo "  CLIENTS=claude,codex  which clients get hooks (default: those found)"
	@echo "  HOOKS=0  programs only    YES=1  don't ask"
	@echo "  SIZES=1,50,500,4096  transcripts of make bench, in MB    RUNS=15  its rounds"

.PHONY: build
build: ## build all programs into bin/
	@mkdir -p bin
	go build $(GOFLAGS_BUILD) -o bin/ $(addprefix ./cmd/,$(PROGRAMS))

.PHONY: install
install: build ## build, install the programs and the hooks, show a round trip
	@mkdir -p "$(BINDIR)"
	@for p in $(PROGRAMS); do \
		cp "bin/$$p" "$(BINDIR)/.$$p.new" && chmod 755 "$(BINDIR)/.$$p.new" && \
		mv -f "$(BINDIR)/.$$p.new" "$(BINDIR)/$$p" || exit 1; \
	done
	@echo "programs  $(BINDIR)"
ifneq ($(HOOKS),0)
	@"$(BINDIR)/reseat" install --round-trip $(if $(CLIENTS),--client $(CLIENTS)) $(if $(filter 1,$(YES)),--yes)
endif

.PHONY: uninstall
uninstall: ## take the hooks out, then remove the programs
	@if [ -x "$(BINDIR)/reseat" ]; then "$(BINDIR)/reseat" uninstall --yes; fi
	@for p in $(PROGRAMS); do rm -f "$(BINDIR)/$$p"; done
	@echo "programs removed from $(BINDIR); what was kept of sessions stays (see: reseat purge)"

.PHONY: test
test: ## all tests that need no client
	go test ./...

.PHONY: test-large
test-large: ## the hook's peak memory on transcripts of up to 4 GB, too
	RESEAT_TEST_LARGE=1 go test -count=1 -timeout 30m -v -run PeakMemory ./cmd

# The seed of the model test's first sequence, and how many there are.
SEED      ?= $(shell date +%s)
SEQUENCES ?= 100000

.PHONY: torture
torture: ## kill, fail and race the hooks at every call; 100,000 random sequences of the model test
	go test -count=1 -timeout 60m -v ./internal/torture -full
	go test -count=1 -timeout 60m -v -run '^TestModel$$' ./bridge -sequences $(SEQUENCES) -seed $(SEED)

# For how long each target runs (10s, or 500x for so many inputs), and where. The
# fuzzing engine at times reports its own time-out as a failure: see fuzz.
FUZZTIME ?= 10s
FUZZ     ?= ./...

.PHONY: fuzz
fuzz: ## every fuzz target, one after the other, FUZZTIME=10s each
	@go list -f '{{.Dir}} {{.ImportPath}}' $(FUZZ) | while read -r dir pkg; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$dir"/*_test.go 2>/dev/null); do \
			fuzz="go test -run ^$$ -fuzz ^$$target$$ -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg"; \
			out=$$($$fuzz 2>&1) || case "$$out" in \
			*"Failing input"*|*"seed corpus"*|*"build failed"*) echo "$$out"; exit 1;; \
			*) echo "$$target ended without a find, once more"; out=$$($$fuzz 2>&1) || { echo "$$out"; exit 1; };; \
			esac; \
			echo "$$pkg $$target: $$(echo "$$out" | sed -n 's/.*\(execs: [0-9]*\).*/\1/p' | tail -n 1)"; \
		done || exit 1; \
	done

.PHONY: check
check: ## formatting, vet, staticcheck, tidy and generated files
	@echo gofumpt; out=$$(go run $(GOFUMPT) -l .); test -z "$$out" || { echo "$$out"; exit 1; }
	go vet ./...
	go vet -tags e2e ./...
	go run $(STATICCHECK) ./...
	go mod tidy -diff
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...

.PHONY: e2e
e2e: ## the real clients against stub models on loopback
	@fail=0; \
	go test -tags e2e -count=1 -timeout 60m ./internal/e2e/... || fail=1; \
	go test -tags e2e -count=1 -timeout 30m -run 'Real|Live|Client|Codex|Claude' ./installer/... || fail=1; \
	exit $$fail

.PHONY: bench
bench: ## whole programs over transcripts of SIZES, against floors
	go run ./internal/bench $(if $(SIZES),-sizes $(SIZES)) $(if $(RUNS),-runs $(RUNS))

.PHONY: generate
generate: ## the generated files anew (needs protoc)
	go generate ./plugins/...
	go test ./packet ./internal/config ./cmd/reseat -run 'Schema|Sample|HelpIsPinned' -update
