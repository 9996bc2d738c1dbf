#!/usr/bin/env bash
# Builds lane._core and puts it, with its type stub, beside the package, so that
#   PYTHONPATH=python build/python/bin/python -c 'import lane._core'
# works in a working tree. The Python is an environment with the packages of third_party's locks, made on first use;
# LANE_PYTHON names another one, which needs nanobind, numpy and gguf. Arguments go to CMake's configuration, e.g.
# -DLANE_SANITIZE=address.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${LANE_PYTHON:-build/python/bin/python}
if [ -z "${LANE_PYTHON:-}" ] && [ ! -x "$python" ]; then
  . tools/prerequisites.sh
  lane_prerequisites
  python3 -m venv build/python
  "$python" -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes \
    -r third_party/build.lock -r third_party/runtime.lock -r third_party/tests.lock
fi
python=$("$python" -c 'import sys; print(sys.executable)')
PATH=$(dirname "$python"):$PATH # its cmake and ninja, if it has them
cmake -S . -B build -G Ninja -DPython_EXECUTABLE="$python" -DLANE_WERROR=ON -DLANE_DEV=ON "$@"
nice cmake --build build --parallel 2
