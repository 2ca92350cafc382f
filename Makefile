# The commands that most need: make run to measure, make check and make test to
# work on tare. `make help` lists the rest; docs/contributing/development.md explains them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

# What set-up builds itself is found first; Go's usual place and the system's
# programs (for those who are not root) last.
export PATH := $(CURDIR)/build/bin:$(PATH):/usr/local/go/bin:/usr/sbin:/sbin

# Static programs; the version comes from below and not from Go, which asks git in
# ways that fail where the checkout is another user's. Linters, programs and tests are
# compiled with the same flags, so that what one has compiled serves the others; without
# debug information, which the linker leaves out, the compiler takes a tenth less time.
export CGO_ENABLED := $(if $(RACE),1,0)
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false -trimpath -gcflags=all=-dwarf=false)

# The images that tests make stay here, for the next time.
export TARE_TEST_IMAGES ?= $(CURDIR)/build/test-images

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
# What `tare version` says: of the commit and not of the build, so that the same source
# gives the same bytes.
COMMIT   ?= $(shell git describe --always --abbrev=40 --exclude='*' --dirty 2>/dev/null)
DATE     ?= $(shell TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
STUDY    ?= quick
ARGS     ?=
PACKAGES ?= ./...
FUZZTIME ?= 20s

agent := internal/agent/program/tare-agent
# With this GOGC the compiler takes less time, within the limit of memory.
go-build = GOGC=$(or $(GOGC),400) GOMEMLIMIT=$(or $(GOMEMLIMIT),2GiB) go build $(race) -ldflags "$(static) -s -w$1"
stamp = -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

# RACE=1 puts the race detector, which is linked through cgo, into tare, its agent
# and the tests. Tare and the agent stay static, since they run in images.
ifneq ($(RACE),)
race := -race -tags netgo,osusergo
static := -linkmode external -extldflags -static
# By default each of these programs sleeps for a second before it exits.
export GORACE ?= atexit_sleep_ms=0
endif

# Measuring needs root: cgroups, mounts, engines.
as-root := $(if $(filter 0,$(shell id -u)),,sudo env "PATH=$(PATH)")

.PHONY: build
build: setup-build agent ## Build bin/tare, with its agent inside (the default)
	$(call go-build, $(stamp)) -o bin/tare ./cmd/tare

# Without a version: what embeds it is compiled again only if the agent has changed.
.PHONY: agent
agent: # after the set-up that brings Go
	$(call go-build) -o $(agent) ./cmd/tare-agent

# The steps of make run, which a first user waits for.
.PHONY: run-step-1 run-step-2
run-step-1:
	@echo "make run, step 1 of 3: set-up installs what this machine lacks, and lists it"
run-step-2:
	@echo "make run, step 2 of 3: compiling tare (the first time all its modules too)"

.PHONY: run
run: run-step-1 setup-run run-step-2 build ## Install what is missing, then run a study and report it (STUDY=quick ARGS="--budget 5m")
	@echo "make run, step 3 of 3: the study $(STUDY), whose image is built the first time"
	@$(as-root) scripts/with-engines.sh docker -- bin/tare run $(STUDY) $(ARGS)
	@echo "bin/tare, without a command, says what to do next"

.PHONY: check
check: setup-check agent ## Check what can be checked in some minutes: form of the code, links, all tests that need only Go (PACKAGES=./internal/stats RACE=1)
	scripts/check.sh $(if $(RACE),-race) $(PACKAGES)

.PHONY: lint
lint: setup-check ## The first part of check: gofmt, golangci-lint, shellcheck, known vulnerabilities
	scripts/lint.sh $(PACKAGES)

.PHONY: test
test: setup-test build web/node_modules/.package-lock.json ## Install what the tests need and run them all (PACKAGES=./internal/stats ARGS="-run Name" SHORT=1 RACE=1 NIGHTLY=1)
	TARE_TEST_SHORT=$(SHORT) scripts/test.sh $(if $(RACE),-race) $(ARGS) $(PACKAGES)

.PHONY: test-kubernetes
test-kubernetes: setup-kubernetes build ## Build Kubernetes, start a cluster of two nodes on this machine, and run the tests that need one (ARGS="-run Name" SHORT=1)
	$(as-root) env TARE_TEST_SHORT=$(SHORT) scripts/test-kubernetes.sh $(ARGS)

.PHONY: test-machine
test-machine: setup-machine build ## Make a virtual machine with systemd, cgroup v2 and KVM, and run tests of whole commands there (SHORT=1 SMALL=1 SUITE=sid SELINUX=1 KINDS="docker, native" PROGRAMS=directory ARGS="-run Name")
	$(if $(SMALL),,scripts/install-runsc.sh build/bin)
	$(as-root) env TARE_TEST_SHORT=$(SHORT) SMALL=$(SMALL) SUITE=$(SUITE) CPUS=$(CPUS) NODES=$(NODES) PROGRAMS="$(PROGRAMS)" KINDS="$(KINDS)" SELINUX=$(SELINUX) scripts/test-machine.sh run $(ARGS)

.PHONY: cluster
cluster: setup-kubernetes ## Build the programs of the cluster alone, which make test-kubernetes starts
	scripts/install-cluster.sh build/cluster/bin

.PHONY: test-suites
test-suites: setup-test build ## Run every built-in pack once with the packages of newer releases of Debian (SUITE="trixie sid" PACK="redis nginx")
	$(as-root) env TARE_TEST_SUITES="$(or $(SUITE),trixie sid)" TARE_TEST_PACKS="$(PACK)" go test -count=1 -v -timeout=8h ./internal/testing/suites

absolute = $(if $(findstring /,$1),$(abspath $1),$1)# a test runs in the directory of its package

.PHONY: test-vmm
test-vmm: setup-test build ## Run the tests of firecracker and cloud-hypervisor with the real programs, where KVM works (SHORT=1 FIRECRACKER=path JAILER=path CLOUD_HYPERVISOR=path ARGS="-test.run=Name")
	scripts/test-vmm.sh compile
	$(as-root) env TARE_TEST_SHORT=$(SHORT) FIRECRACKER="$(call absolute,$(FIRECRACKER))" JAILER="$(call absolute,$(JAILER))" CLOUD_HYPERVISOR="$(call absolute,$(CLOUD_HYPERVISOR))" \
		UPDATE_GOLDEN="$(UPDATE_GOLDEN)" scripts/test-vmm.sh tests $(ARGS)

.PHONY: bench
bench: setup-bench build ## Measure what tare itself costs and write docs/explanation/benchmarks.md (ARGS="-only starts")
	$(as-root) scripts/with-engines.sh docker -- go run ./bench $(ARGS)

.PHONY: fuzz
fuzz: build ## Fuzz every fuzz target (FUZZTIME=20s PACKAGES=./internal/base/strictyaml)
	scripts/fuzz.sh $(FUZZTIME) $(PACKAGES)

.PHONY: faults
faults: setup-test build ## Inject faults into runs, 300 kills of tare among them, and write build/faults.md (ARGS="-run Kill -seed=7")
	$(as-root) scripts/with-engines.sh docker podman -- go test -count=1 -timeout=4h -v ./internal/testing/faults -long -table=$(CURDIR)/build/faults.md $(ARGS)

.PHONY: vulncheck
vulncheck: setup-check agent ## Look for known vulnerabilities in dependencies; needs the network
	scripts/vulncheck.sh $(ARGS) $(PACKAGES)

.PHONY: sbom
sbom: build ## Write bin/tare.cdx.json: the modules in bin/tare with their licences, as CycloneDX
	scripts/install-tools.sh build/bin cyclonedx-gomod
	build/bin/cyclonedx-gomod bin -json -licenses -std -version $(VERSION) -output bin/tare.cdx.json bin/tare

.PHONY: image
image: setup-run build ## Write bin/tare-image.tar: an OCI image with tare, for docker load or the nodes of a cluster (IMAGE=registry.example/tare:1)
	$(as-root) go run ./deploy/image -tare bin/tare -out bin/tare-image.tar -images "$(TARE_TEST_IMAGES)" -name "$(or $(IMAGE),localhost/tare-program:latest)"

.PHONY: release
release: setup-release ## Write tarballs, packages, an OCI image, SBOM, checksums and provenance into build/release (VERSION=1.2.3 ARGS=--no-image)
	VERSION="$(if $(filter-out file,$(origin VERSION)),$(VERSION))" scripts/release.sh $(ARGS)

.PHONY: reproduce
reproduce: setup-build ## Build twice in two directories, from nothing, and compare the bytes
	scripts/reproduce.sh --from-nothing

.PHONY: docs
docs: setup-docs build ## Build the documentation site into build/site/html
	scripts/docs.sh

.PHONY: web
web: web/node_modules/.package-lock.json ## Build the script and style of the HTML report from web/
	cd web && npm run build

web/node_modules/.package-lock.json: web/package-lock.json
	scripts/setup.sh web
	cd web && npm ci
	touch $@

.PHONY: setup
setup: ## Install what all targets need; nothing that is there already
	@scripts/setup.sh check run test kubernetes machine bench docs release

.PHONY: setup-build setup-check setup-run setup-test setup-kubernetes setup-machine setup-bench setup-docs setup-release
setup-build setup-check setup-run setup-test setup-kubernetes setup-machine setup-bench setup-docs setup-release: setup-%:
	@scripts/setup.sh $*

.PHONY: stop
stop: ## Stop the engines, the cluster and the machine that an interrupted make left running
	@$(as-root) scripts/start-dockerd.sh stop docker build/engines
	@$(as-root) scripts/start-dockerd.sh stop podman build/engines
	@$(as-root) scripts/start-dockerd.sh stop containerd build/engines
	@$(as-root) scripts/start-cluster.sh down
	@for folder in build/machine-*; do [ ! -e "$$folder/pid" ] || $(as-root) env SUITE="$${folder#*-}" scripts/test-machine.sh stop; done

.PHONY: clean
clean: stop ## Remove everything that make builds: programs, runsc, test images
	rm -rf --one-file-system bin build $(agent)

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS=$$'\t' read -r target what; do printf '%-15s %s\n' "$$target" "$$what"; done
