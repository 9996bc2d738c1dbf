#!/usr/bin/env bash
# Formats the tree as the tests want it: ruff for Python, clang-format for C++. Both come from third_party/lint.lock.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/format/bin
if [ ! -x $bin/ruff ] || [ third_party/lint.lock -nt $bin/ruff ]; then
  "${LANE_PYTHON:-python3}" -m venv build/format
  $bin/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r third_party/lint.lock
  touch $bin/ruff
fi
$bin/ruff check --fix .
$bin/ruff format .
find cpp tests bench examples -name '*.c' -o -name '*.cc' -o -name '*.h' | xargs -r $bin/clang-format -i
