#!/usr/bin/env bash
# All tests, for `make test`: every core is busy to the end. The notebooks are run again while the pages are written, by
# one process, and beside the other tests. Linux shares a processor among sessions first, and every kernel has its own:
# at any priority they take their part of it.
set -euo pipefail

python book/run.py --solutions
rm -f _build/passed/incomplete _build/reference/*.jsonl # the latter: what a lab's experiment has found, and would find again
python tests/rerun.py >_build/rerun.txt 2>&1 &
rerun=$!
trap 'pkill -P $rerun || true; kill $rerun 2>/dev/null || true' EXIT

make slides
make lint
env $TWO_AT_A_TIME -p tests.settled --cov --cov-report= --cov-fail-under=0 --durations 30 --doctest-modules pioneers tests
if test -e _build/passed/incomplete; then
  echo "coverage: not judged, since slow tests that have passed were not run again"
else
  coverage report
fi
echo "waiting for the notebooks that are run again"
status=0
wait $rerun || status=$?
cat _build/rerun.txt
exit $status
