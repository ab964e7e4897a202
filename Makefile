# Everything sets itself up in .venv; nothing is assumed but Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

# who forbids Python to keep what it compiles would have every library compiled anew by every process; it goes into
# the environment instead, and nothing is left beside the sources
ifdef PYTHONDONTWRITEBYTECODE
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(abspath $(VENV))/bytecode
endif

.PHONY: demo test test-more test-cluster test-torch test-studies test-processors test-emulated test-sanitized test-threadpoolctl test-versions test-nasty test-states mutants fuzz soak kills audit lint format bench bench-processors bench-targets bench-speedups bench-ablation bench-scaling bench-cluster bench-startup bench-peers bench-starts bench-noise bench-noise-columns bench-graph bench-neighbors bench-graph-rules bench-default-map bench-map-scaling bench-raw bench-profile bench-choose-k bench-report bench-separation noise study theorems paper paper-peers paper-quick paper-multi paper-ablation paper-single paper-figures docs dist wheels wheels-test dist-test clean help
.DEFAULT_GOAL := help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /	/' | expand -t 18

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "powerkmeans needs Python >= 3.11; set PYTHON=python3.11 or newer"; exit 1; }
	$(PYTHON) -m venv $(VENV)

NATIVE := hatch_build.py $(wildcard src/powerkmeans/compute/native/build.py src/powerkmeans/compute/native/cpp/*.[hc]*)

# the kernels are compiled while pip unpacks what others made; Python compiles the modules that are imported, not all
INSTALL = $(BIN)/python src/powerkmeans/compute/native/build.py & HATCH_BUILD_NO_HOOKS=true $(BIN)/python -m pip install \
	--quiet --disable-pip-version-check --no-compile --editable '.[$(EXTRAS)]' && wait

$(VENV)/.demo: EXTRAS = cli,plot
$(VENV)/.demo: pyproject.toml $(NATIVE) | $(BIN)/python
	$(INSTALL)
	@touch $@

$(VENV)/.run: EXTRAS = plot,test
$(VENV)/.run: pyproject.toml $(NATIVE) | $(BIN)/python
	$(INSTALL)
	@touch $@ $(VENV)/.demo

$(VENV)/.dev: EXTRAS = dev
$(VENV)/.dev: pyproject.toml $(NATIVE) | $(BIN)/python
	$(INSTALL)
	@touch $@ $(VENV)/.run $(VENV)/.demo

# jobs that share the cores get one thread each, or their waiting threads take the time of the others; what is
# about threads is run with two before that. The rows of the demo are too few for a second thread.
threads = OPENBLAS_NUM_THREADS=$(1) OMP_NUM_THREADS=$(1)

demo: $(VENV)/.demo  ## cluster views of the handwritten digits, clean and spoilt; tables, labels, a report and pictures
	@$(call threads,1) $(BIN)/python examples/digits.py > $(VENV)/digits.txt & digits=$$!; \
		echo "$(BIN)/python examples/views.py, and beside it examples/digits.py"; \
		$(call threads,1) $(BIN)/python examples/views.py && wait $$digits; \
		status=$$?; echo; cat $(VENV)/digits.txt; exit $$status
	@echo
	@echo "Your own file:   $(BIN)/powerkmeans fit yours.csv --id name -k 3"
	@echo "The report:      open demo_output/views.html in a browser"
	@echo "How to go on:    docs/start.md, docs/command_line.md; make docs builds the site"

# neighbouring tests share fitted models, so they stay in one job until the other has nothing left
jobs = --numprocesses $(JOBS) --dist worksteal

# what takes minutes, and what few changes can break
MORE := docs tests/report tests/plotting tests/properties tests/release tests/choose tests/test_quality.py \
	tests/fitting/test_checkpoints.py tests/cli/test_cli_process.py $(patsubst %,tests/compute/test_%.py,libraries processors emulated)
ELSEWHERE := tests/engines tests/cluster tests/studies tests/tensors tests/cards $(MORE)

test: $(VENV)/.run  ## the tests of the library
	$(call threads,2) $(BIN)/python -m pytest $(jobs) --quiet tests/engines
	$(call threads,1) $(BIN)/python -m pytest $(jobs) --quiet $(addprefix --ignore=,$(ELSEWHERE)) tests src

test-more: $(VENV)/.run  ## what takes minutes: properties, quality, numbers of clusters, checkpoints, nasty data, the report in a browser, pictures, examples in the docs, builds
	$(call threads,1) $(BIN)/python -m pytest $(jobs) --quiet $(MORE)

test-cluster: $(VENV)/.run  ## rows that Dask has, and a real cluster of two worker processes: killed, joined, emptied
	$(call threads,1) $(BIN)/python -m pytest --quiet tests/cluster

# for processors alone where the index has such: the engine is the same
TORCH ?= torch==2.13.0
$(VENV)/.torch: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile '$(TORCH)' 'triton; sys_platform == "linux"'
	@touch $@

ON_TORCH := tests/engines/test_conformance.py tests/features/test_maps_conformance.py tests/objective/test_portable.py
test-torch: $(VENV)/.torch  ## tensors, and the engine on PyTorch: the suites of engines, maps and equations, scikit-learn's checks
	SCIPY_ARRAY_API=1 $(call threads,1) $(BIN)/python -m pytest $(jobs) --quiet tests/tensors
	$(call threads,1) $(BIN)/python -m pytest $(jobs) --quiet tests/cards
	$(call threads,1) $(BIN)/python -m pytest $(jobs) --quiet -k 'torch or function or kernel_matrix' $(ON_TORCH)

test-studies: $(VENV)/.run  ## the tests of the commands behind the tables, and the gallery
	$(call threads,1) $(BIN)/python -m pytest --numprocesses $(JOBS) --quiet tests/studies

test-processors: $(VENV)/.run  ## engines, kernels, oracle and properties on every processor that this one can pretend to be
	$(BIN)/python tests/processors.py --jobs $(JOBS)

test-emulated: $(VENV)/.run  ## the compiled kernels on arm64 and on old processors, by emulators where these are installed
	$(BIN)/python tests/emulated.py

COUNT ?= 12000
test-sanitized: $(VENV)/.run  ## the kernel's tests and COUNT random shapes, with every access to memory checked (g++ on Linux)
	$(BIN)/python -m benchmarks.fuzz.sanitized --count $(COUNT)

MINUTES ?= 10
fuzz: $(VENV)/.run  ## try to break files, tables and values at random for MINUTES; runs add up (python -m benchmarks.fuzz --totals)
	$(call threads,1) $(BIN)/python -m benchmarks.fuzz --minutes $(MINUTES)

soak: MINUTES = 20
soak: $(VENV)/.run  ## fits, files and reports in a loop for MINUTES: memory, descriptors, threads and files over time
	$(call threads,1) $(BIN)/python -m benchmarks.soak --minutes $(MINUTES) --picture docs/images/soak.png

kills: $(VENV)/.run  ## kill the command at a hundred moments of a run; its results are whole
	$(call threads,1) $(BIN)/python -m benchmarks.kills

test-versions: $(VENV)/.run  ## the oldest and newest dependencies that are admitted, on every Python that is here
	$(call threads,1) $(BIN)/python release/versions.py

audit:  ## ask the database of Python advisories about the dependencies
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	HATCH_BUILD_NO_HOOKS=true build/audit/bin/pip-audit --progress-spinner off .

test-nasty: $(VENV)/.run  ## nasty data through every engine, map, membership and precision, two thousand cases
	POWERKMEANS_FUZZ=1 $(call threads,1) $(BIN)/python -m pytest $(jobs) --quiet tests/properties/test_nasty.py

test-states: $(VENV)/.run  ## random orders of fits, chunks, failures, interrupts, files and copies, for minutes
	POWERKMEANS_FUZZ=1 $(call threads,1) $(BIN)/python -m pytest --quiet tests/properties/test_states.py

MUTANTS ?= 230
mutants: $(VENV)/.run  ## the source broken in MUTANTS small ways: do the tests notice? goes on where it was stopped
	$(call threads,1) $(BIN)/python -m benchmarks.mutants --count $(MUTANTS) --jobs $(JOBS)

THREADPOOLCTL ?= 3.5.0
test-threadpoolctl: $(VENV)/.run  ## the hold on BLAS threads with the oldest threadpoolctl that is supported
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target build/threadpoolctl threadpoolctl==$(THREADPOOLCTL)
	PYTHONPATH=build/threadpoolctl $(BIN)/python -m pytest --quiet tests/engines/test_blas.py

lint: $(VENV)/.dev  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.run  ## one pass against the machine's floor and one Lloyd iteration of scikit-learn
	$(BIN)/python -m benchmarks.passes

bench-speedups: $(VENV)/.run  ## a fit without each of its speed-ups
	$(BIN)/python -m benchmarks.speedups

bench-ablation: $(VENV)/.run  ## a fit without each of its rules of thumb
	$(BIN)/python -m benchmarks.ablation

bench-scaling: $(VENV)/.run  ## passes up to ten million rows; a fit to a 6 GB file in 512 MB
	$(BIN)/python -m benchmarks.scaling

bench-cluster: $(VENV)/.run  ## the engine on Dask: overhead, throughput beside threads, dask-ml; 50 GB and their memory
	$(BIN)/python -m benchmarks.cluster
	$(BIN)/python -m benchmarks.cluster_memory --picture docs/images/cluster_memory.png

bench-startup: $(VENV)/.run  ## how long imports and the command's help take
	$(BIN)/python -m benchmarks.startup

bench-peers: $(VENV)/.run  ## time to quality beside other k-means, in the folder POWERKMEANS_DATA
	$(BIN)/python -m benchmarks.peers

bench-processors: $(VENV)/.run  ## partitions, labels and bits of 200 fits on other processors
	$(BIN)/python -m benchmarks.processors

bench-targets: $(VENV)/.run  ## passes, fits and predict by each compiled target that this processor runs
	$(BIN)/python -m benchmarks.targets

bench-starts: $(VENV)/.run  ## hard cost against k-means on synthetic families, 20 seeds
	$(BIN)/python -m benchmarks.starts

study: $(VENV)/.run  ## the study that sets the defaults, in the folder POWERKMEANS_DATA; goes on where it was stopped
	$(BIN)/python -m benchmarks.study --jobs $(JOBS)

bench-noise: $(VENV)/.run  ## the weight that a view of noise keeps, by its dimension
	$(BIN)/python -m benchmarks.noise_view

bench-noise-columns: $(VENV)/.run  ## HW2 and handwritten beside 1, 32 and 200 columns of noise, in the folder POWERKMEANS_DATA
	$(BIN)/python -m benchmarks.noise_columns --jobs $(JOBS)

bench-graph: $(VENV)/.run  ## ACC and NMI over seeds and subsamples, beside landmarks; goes on where it was stopped
	$(BIN)/python -m benchmarks.graph_quality --jobs $(JOBS)

bench-graph-rules: $(VENV)/.run  ## what each rule of the graph buys; real sets with POWERKMEANS_DATA
	$(BIN)/python -m benchmarks.graph_rules --jobs $(JOBS)

bench-default-map: $(VENV)/.run  ## the default map beside landmarks: which is taken, what choosing costs, whom it harms
	$(BIN)/python -m benchmarks.default_map --jobs $(JOBS)

bench-neighbors: $(VENV)/.run  ## accuracy by the number of neighbours in a graph, with its picture; needs no folder
	$(BIN)/python -m benchmarks.neighbors_curve --jobs $(JOBS)

bench-map-scaling: $(VENV)/.run  ## time and memory of feature maps and fits up to a million rows, beside k-means
	$(BIN)/python -m benchmarks.map_scaling

bench-raw: $(VENV)/.run  ## from raw rows to labels: time, memory and quality beside others, in the folder POWERKMEANS_DATA
	$(BIN)/python -m benchmarks.raw_rows

bench-profile: $(VENV)/.run  ## where the time of a default fit goes, beside the floor of its map
	$(BIN)/python -m benchmarks.fit_profile

bench-report: $(VENV)/.run  ## size of the report, its time and memory, up to a million rows
	$(BIN)/python -m benchmarks.report_size

bench-separation: $(VENV)/.run  ## how often clusters count as more separated than noise, of sets with clusters and without
	$(BIN)/python -m benchmarks.separation

noise: $(VENV)/.run  ## spoilt samples and views: accuracy and outlier scores beside others; goes on where it was stopped
	$(BIN)/python -m benchmarks.noise --jobs $(JOBS)

noise-quick: $(VENV)/.run  ## the same on few rows of the sets that need no folder, in minutes
	$(BIN)/python -m benchmarks.noise --quick --jobs $(JOBS)

bench-choose-k: $(VENV)/.run  ## how often choose_k is right; real sets too if POWERKMEANS_DATA is set
	$(BIN)/python -m benchmarks.choose_k

$(VENV)-peers/bin/python: benchmarks/methods/peers-requirements.txt
	PYTHON=$(PYTHON) sh benchmarks/methods/make_peers_env.sh $(VENV)-peers

paper-peers: $(VENV)-peers/bin/python  ## an environment for the libraries that the paper's tables compare with

paper: $(VENV)/.run  ## the paper's tables and figures from the folder POWERKMEANS_DATA; goes on where it was stopped
	$(BIN)/python -m benchmarks.paper.tables --jobs $(JOBS)
	$(BIN)/python -m benchmarks.paper.figures --jobs $(JOBS)

paper-quick: $(VENV)/.run  ## the same on the small sets with few seeds, in minutes
	$(BIN)/python -m benchmarks.paper.tables --quick --jobs $(JOBS)
	$(BIN)/python -m benchmarks.paper.figures --quick --jobs $(JOBS)

paper-multi paper-ablation paper-single: paper-%: $(VENV)/.run
	$(BIN)/python -m benchmarks.paper.tables --table $* --jobs $(JOBS)

paper-figures: $(VENV)/.run  ## the paper's figures alone
	$(BIN)/python -m benchmarks.paper.figures --jobs $(JOBS)

theorems: $(VENV)/.run  ## do the paper's theorems hold? verdicts with numbers, in minutes
	$(BIN)/python -m benchmarks.theorems

$(VENV)/.docs: EXTRAS = docs
$(VENV)/.docs: pyproject.toml $(NATIVE) | $(BIN)/python
	$(INSTALL)
	@touch $@

docs: $(VENV)/.docs  ## the documentation site, in docs/_build/html; a warning is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

dist: $(VENV)/.dev  ## build the wheel and the source archive
	rm -rf dist
	$(BIN)/python -m build --quiet

$(VENV)/.release: EXTRAS = release
$(VENV)/.release: pyproject.toml $(NATIVE) | $(BIN)/python
	$(INSTALL)
	@touch $@

wheels: $(VENV)/.release  ## the source archive, a wheel for any system, wheels with kernels for x86_64 and aarch64, all checked
	rm -rf dist
	$(BIN)/python release/wheels.py --into dist

wheels-test: $(VENV)/.release  ## install the wheels of make wheels in clean environments, run those of other machines by emulators
	$(BIN)/python release/trial.py dist/*.whl
	$(BIN)/python tests/emulated.py dist/*manylinux*.whl

dist-test: dist  ## install the wheel in a clean environment and run the tests on it
	rm -rf $(VENV)-dist && $(PYTHON) -m venv $(VENV)-dist
	CC=/bin/false CXX=/bin/false $(VENV)-dist/bin/python -m pip install --quiet --disable-pip-version-check \
		"$$(ls dist/*.whl)[test]"
	cd tests && ../$(VENV)-dist/bin/python -m pytest --numprocesses $(JOBS) --quiet -c ../pyproject.toml \
		--rootdir .. . && rm -rf ../$(VENV)-dist

clean:  ## remove the environment and everything built
	rm -rf $(VENV) $(VENV)-dist $(VENV)-peers dist demo_output docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
