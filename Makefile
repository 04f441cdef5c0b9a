# make demo   set up, run three systems on feedback weighing, print the table, write the report page
# make test   set up, check style and types, pass the tests
# make bench  set up, measure speed as ratios

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PLAIN := $(VENV)/.installed
FULL := $(VENV)/.installed-dev
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# What the cameras need and pip cannot bring: software OpenGL behind EGL.
SYSTEM := libegl1 libgl1-mesa-dri
EPISODES ?= 6
WORKERS ?= 2
RUNS ?= runs/demo

.PHONY: setup demo test bench lint clean system

setup: $(FULL)

system:
	@if [ "$$(uname -s)" = Linux ] && ! ldconfig -p 2>/dev/null | grep -q 'libEGL\.so\.1'; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(SYSTEM) >/dev/null; \
	  else \
	    echo "The cameras need $(SYSTEM): sudo apt-get install $(SYSTEM)"; exit 1; \
	  fi; \
	fi

$(PLAIN): pyproject.toml constraints.txt | system
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "labference needs Python 3.11 or newer; this is $$($(PYTHON) -V). Try: make PYTHON=python3.11"; exit 1; }
	@if [ ! -x $(BIN)/python ] && ! $(PYTHON) -m venv $(VENV); then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null && \
	    rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); \
	  else \
	    rm -rf $(VENV); echo "The virtual environment needs python3-venv: sudo apt-get install python3-venv"; exit 1; \
	  fi; \
	fi
	$(INSTALL) -e .
	@touch $@

# What the tests need on top: the packages whose wires and tools we speak, and the linters.
$(FULL): $(PLAIN)
	$(INSTALL) -e '.[dev]'
	@touch $@

demo: $(PLAIN)
	$(BIN)/labference doctor
	@for policy in expert reader favourite; do \
	  $(BIN)/labference run weighing-basic --policy $$policy --episodes $(EPISODES) --workers $(WORKERS) \
	    --video front --out $(RUNS)/$$policy || exit $$?; \
	done
	$(BIN)/labference audit $(RUNS)
	$(BIN)/labference score $(RUNS)
	$(BIN)/labference report $(RUNS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: setup lint
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

bench: setup
	$(BIN)/python benchmarks/run.py $(BENCH)
	$(BIN)/python benchmarks/wires.py
	$(BIN)/python benchmarks/fidelities.py
	$(BIN)/python benchmarks/alfworld.py
	$(BIN)/python benchmarks/wet_controllers.py --episodes 3
	$(BIN)/python benchmarks/wet_skills.py --trials 2
	$(BIN)/python benchmarks/wet_pours.py --pours 2
	$(BIN)/python benchmarks/pouring.py --pours 30
	$(BIN)/python benchmarks/chemistry.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
