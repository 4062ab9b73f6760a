# make report   sets everything up, runs the main job, writes reports/index.html
# make test     style, types, storeys, and every quick test
# make lab      JupyterLab; the notebooks open by double click
# make test-all also slow tests, oracles, all notebooks, peers, bounded fuzzing
# make pythons  the wheel's tour on each Python of pyproject.toml that is here
# make bench    benchmarks as ratios, into reports/bench.json
# make fuzz HOURS=n  searches for inputs of every kind that fail, from fresh seeds
# make laws PART=k/n TIMES=40  tests of properties with so many times their examples, from fresh seeds; a part of them
# make accuracy  writes reports/accuracy.md anew
# make kernel-programs the long comparison of packet programs with this machine's kernel (root): 400,000 runs
# make precomputed computes the stored results of long computations again
# make docs     the documentation site, into docs/_build/VERSION/index.html
# make lock     pins the dependencies anew (needs uv)

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
WORKERS := -n auto --dist worksteal
MORE_WORKERS := -n $(shell echo $$(($$(nproc) + 1))) --dist worksteal # for tests that wait: browsers, networks, kills
KERNELS := $(wildcard npexplore/_kernels/*.py)
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
# uv is quicker where there is one; two pips, each with half of the packages, do the same from the same hashes. Neither
# compiles modules, which is half of an installation's time for modules that are mostly never imported. The first process
# that imports one keeps its bytecode for all others, also where Python is told to keep none: there every one of them
# would compile it again.
HALVES = awk '/^[a-z0-9]/ {n++} {print > (".venv/half" n % 2 ".lock")}' $(1)
HALF = $(PIP) --no-deps --require-hashes -r .venv/half$(1).lock
INSTALL = $(if $(shell uv --version 2>/dev/null),uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r $(1) || ) \
  { $(call HALVES,$(1)); $(call HALF,0) & first=$$!; $(call HALF,1) && wait $$first; }
export PYTHONDONTWRITEBYTECODE :=

.PHONY: accuracy kernel-programs docs fuzz laws precomputed report test quick slow brief test-rest test-all pythons lab bench lock check clean click-peer
.DELETE_ON_ERROR:

# Kernels compile as pages ask for them: the first pages stand before all kernels would be compiled.
report: .venv/ok
	$(BIN)/npexplore report

accuracy: .venv/warm
	$(BIN)/npexplore check $(patsubst models/machines/%.toml,--design %,$(wildcard models/machines/*.toml)) --sets --markdown reports/accuracy.md

# Computes the results again that data/precomputed stores, and says which have changed: a few minutes.
precomputed: .venv/pages
	$(BIN)/python -m npexplore.report.precomputing

# Another seed: make kernel-programs SEED=7
SEED ?= 1
kernel-programs: .venv/warm
	$(BIN)/python tests/reference/ebpf_kernel.py 7500 $(SEED)
	$(BIN)/python tests/reference/ebpf_fib.py 20000 $(SEED)
	$(BIN)/python -m pytest -q tests/law/test_law_ebpf.py

# mypy needs one processor for half a minute: the tests use what it leaves.
test: .venv/ok .venv/warm
	$(MAKE) --jobs=2 check quick

quick: .venv/ok .venv/warm
	$(BIN)/python -m pytest $(WORKERS) -m "not slow and not oracle and not fuzz"

# Benchmarks that are not measured show that they work: with fewer packets, points and routes.
FEW := NPEXPLORE_BENCH_ROUTES=none NPEXPLORE_BENCH_MESSAGES=40_000 NPEXPLORE_BENCH_PACKETS=100_000 NPEXPLORE_BENCH_POINTS=2_000 NPEXPLORE_BENCH_CLOCKS=1

# What `make test` leaves out; asking for both runs nothing twice. Benchmarks, and what BESIDE names, take the time
# in which slow tests wait.
test-rest: .venv/ok .venv/warm .venv/peers
	$(MAKE) --jobs=3 --output-sync=target slow brief $(BESIDE)

# Each worker collects all that it is given: files without a slow test are most.
WITH_SLOW = tests/fuzz tests/oracle $(shell grep -rlw --include='test_*.py' slow tests/agree tests/law tests/smoke tests/unit)

slow: .venv/ok .venv/warm .venv/peers
	$(BIN)/python -m pytest $(MORE_WORKERS) -m "slow or oracle or fuzz" $(WITH_SLOW)

brief: .venv/ok .venv/warm .venv/peers
	$(FEW) $(BIN)/python -m pytest -n 1 benchmarks --benchmark-disable

test-all: test test-rest

# Targets share the processors: each gets its part of the hours.
HOURS ?= 1
TARGETS := 19
fuzz: .venv/ok .venv/warm
	NPEXPLORE_FUZZ_SECONDS=$$(awk "BEGIN {print int($(HOURS) * 3600 * $$(nproc) / $(TARGETS))}") $(BIN)/python -m pytest $(WORKERS) tests/fuzz

PART ?= 1/1
TIMES ?= 40
laws: .venv/ok .venv/warm
	CI= NPEXPLORE_LAWS_TIMES=$(TIMES) NPEXPLORE_LAWS_PART=$(PART) $(BIN)/python -m pytest $(WORKERS) tests

pythons: .venv/ok
	$(BIN)/python .ci/pythons.py

check: .venv/ok
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/peers
	$(BIN)/python -m sphinx --quiet --fail-on-warning -b html docs docs/_build/$(shell sed -n 's/^version = "\([0-9]*\.[0-9]*\).*"/\1/p' pyproject.toml)

lab: .venv/warm
	JUPYTER_CONFIG_PATH=$(CURDIR)/.jupyter $(BIN)/jupyter lab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

bench: .venv/warm .venv/peers
	$(BIN)/python -m pytest benchmarks --benchmark-json=reports/bench.json

.venv/ok: pyproject.toml requirements.lock
	@echo "setting up .venv (about a minute, once)"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(call INSTALL,requirements.lock)
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.venv/peers: .venv/ok requirements-peers.lock
	$(call INSTALL,requirements-peers.lock)
	@touch $@

# All bytecode, too: who works here may start Python from where it keeps none. Some packages hold files that are no Python.
.venv/warm: .venv/ok $(KERNELS)
	$(BIN)/python -m compileall -qq -j 0 -x '/tests/' .venv/lib npexplore || true
	$(BIN)/npexplore warm --generic
	@touch $@ .venv/pages

# The kernels that the pages use, which are half of them by the time they take.
.venv/pages: .venv/ok $(KERNELS)
	$(BIN)/npexplore warm --generic --pages
	@touch $@

COMPILE := uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11
lock:
	$(COMPILE) --group dev --all-extras pyproject.toml -o requirements.lock
	$(COMPILE) --group peers --group fuzz --group docs pyproject.toml -c requirements.lock -o requirements-peers.lock \
	  $$(sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements.lock)

clean:
	rm -rf .venv dist build npexplore/_kernels/compiled reports/*.html reports/*.js reports/*.json reports/.executed
	find npexplore tests -name __pycache__ -prune -exec rm -rf {} +

# Click graphs of random elements against userlevel Click: make click-peer CLICK=/path/to/click [GRAPHS=3000 SEED=1]
click-peer:
	PYTHONPATH=tests:. $(BIN)/python tests/reference/click_peer.py $(CLICK) $(or $(SEED),1) $(or $(GRAPHS),3000)
