# The few verbs of this project. Each makes its own .venv on first use; nothing else needs installing.

PYTHON ?= python3
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Progress bars are for people at a terminal, not for pages.
export TQDM_DISABLE := 1
# Threads that wait for each other by spinning lose half of a busy machine: let them sleep soon.
export GOMP_SPINCOUNT := 10000

.PHONY: help install book pdf slides handouts linkcheck check test labs solutions grade bench experiments lint format clean

help:
	@echo "make install   only make the environment, in .venv; the other targets do it themselves"
	@echo "make book    run every lecture and build the book: _build/html/index.html"
	@echo "make pdf     the whole book as one file, printed by Chromium: _build/pioneering_transformers.pdf"
	@echo "make slides  a deck of slides for each chapter, with speaker notes: _build/slides/lectures/"
	@echo "make handouts   a sheet for each chapter to print for students: _build/handouts/"
	@echo "make linkcheck   try the links that lead out of the book (needs a network): _build/linkcheck/output.txt"
	@echo "make check   the tests of everyday work, in minutes: style, types, package, the labs' answers; no book"
	@echo "make test    every test: style, package, labs, pages, notebooks"
	@echo "make labs    the students' versions of the labs: labs/student/"
	@echo "make solutions   the labs with their solutions, run: _build/reference/"
	@echo "make grade   write a class of forty and grade it, each submission in a jail: _build/sample_class/"
	@echo "make bench   measure speed beside the other libraries: pioneers/results/speed.json"
	@echo "make experiments NAME=positions   run a longer experiment again, or go on with it; NAME='a b' several"
	@echo "make lint    check style and types;  make format  fix what can be fixed"
	@echo "make clean   remove what was built;  the environment is the folder .venv"

# The stamp comes last: an installation that was interrupted starts again from an empty folder.
.venv/.ready: pyproject.toml constraints.txt
	@test -e $@ || rm -rf .venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; found: $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "This Python cannot make environments. On Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }
	@echo "Installing the tested versions into .venv (once; some minutes) ..."
	@test -e .venv || $(PYTHON) -m venv .venv
	pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@python -m compileall -q -j 0 .venv/lib > .venv/compile.txt || true # on all cores; templates are no Python
	@touch $@

install: .venv/.ready

labs: .venv/.ready
	python labs/release.py

solutions: .venv/.ready
	python book/run.py --solutions

# A page that failed must be read again: Sphinx would not repeat the warnings of a page it has read.
book: .venv/.ready
	python book/run.py
	@test -e _build/book.stamp || rm -rf _build/.doctrees
	@rm -f _build/book.stamp
	jupyter-book build . -W --keep-going -q
	@touch _build/book.stamp

pdf: book
	python book/pdf.py

slides: book
	jupyter-book build . --builder custom --custom-builder slides -W --keep-going -q

handouts: book
	python book/handouts.py

linkcheck: book
	jupyter-book build . --builder custom --custom-builder linkcheck -q

LAB ?= 01_self_attention

grade: .venv/.ready
	python labs/sample_class.py _build/sample_class $(LAB)
	TQDM_DISABLE= pioneers grade _build/sample_class $(LAB)

bench: .venv/.ready
	TQDM_DISABLE= pioneers bench --out pioneers/results/speed.json

experiments: .venv/.ready
	@test -n "$(NAME)" || { echo "Name one: make experiments NAME=$$(ls experiments/*.py | xargs -n1 basename -s .py | grep -v common | paste -sd'|')"; exit 2; }
	@for name in $(NAME); do echo "experiment $$name"; TQDM_DISABLE= python -m experiments.$$name || exit 1; done

lint: .venv/.ready
	ruff check .
	ruff format --check .
	mypy

format: .venv/.ready
	ruff check --fix .
	ruff format .

# What everyday work does without: the jail, the browser, the built book, whole runs of other programs.
SLOW = tests/autograder tests/book tests/notebooks tests/bench tests/experiments tests/labs/test_browser.py \
  tests/labs/test_end_to_end.py tests/labs/test_release.py tests/labs/test_student_version.py
TWO_AT_A_TIME = OMP_NUM_THREADS=1 pytest -n 2 --dist loadfile --no-loadscope-reorder

check: lint
	$(TWO_AT_A_TIME) tests $(SLOW:%=--ignore %)

# Slow tests that have passed on the same files are not run again, and then the coverage is not known.
test: export PIONEERS_SETTLE = $(SLOW)
test: export PYTHONPATH := $(CURDIR)
test: .venv/.ready
	@TWO_AT_A_TIME='$(TWO_AT_A_TIME)' bash tests/all.sh

clean:
	rm -rf _build labs/student .pytest_cache .ruff_cache .coverage
