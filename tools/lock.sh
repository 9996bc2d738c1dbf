#!/usr/bin/env bash
# Pins third_party/*.in anew, by version and hash, for every platform: needs `uv` on PATH.
set -euo pipefail
cd "$(dirname "$0")/../third_party"
lock() {
  uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --upgrade "$1.in" --output-file "$1.lock" "${@:2}"
}
lock runtime
# Packages that two locks share are of one version in both.
lock build --constraint runtime.lock
lock tests --constraint runtime.lock
lock lint --constraint runtime.lock --constraint build.lock
lock models --no-deps
lock vocabularies --no-deps --no-binary llama-cpp-python
