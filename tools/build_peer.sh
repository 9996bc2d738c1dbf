#!/usr/bin/env bash
# Builds llama.cpp, which bench/ compares with: build_peer.sh DIR leaves llama-bench and llama-quantize in DIR/bin.
# The sources are those in PyPI's source package of llama-cpp-python, at the version below; a CPU build for this machine,
# some minutes on two cores. cmake and ninja come from PyPI too. Nothing is done again that is there already.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build_peer.sh DIR}")
version=${PEER_VERSION:-0.3.36}
cd "$(dirname "$0")/.."
. tools/prerequisites.sh
lane_prerequisites
if [ -x "$dir/bin/llama-bench" ] && [ -x "$dir/bin/llama-quantize" ]; then
  echo "peer: already in $dir/bin"
  exit 0
fi
mkdir -p "$dir"
cd "$dir"
[ -x venv/bin/cmake ] || "${LANE_PYTHON:-python3}" -m venv venv
pip() { venv/bin/python -m pip "$@" --disable-pip-version-check --quiet; }
pip install cmake ninja scikit-build-core
# Without build isolation: only the archive is wanted, and its metadata needs no more than scikit-build-core.
pip download "llama-cpp-python==$version" --no-deps --no-binary llama-cpp-python --no-build-isolation --dest archive
rm -rf source
mkdir source
tar -xf archive/llama_cpp_python-"$version".tar.gz -C source --strip-components=1
PATH=$dir/venv/bin:$PATH
cmake -S source/vendor/llama.cpp -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLAMA_BUILD_APP=OFF >configure.log
nice cmake --build build --parallel "$(nproc)" --target llama-bench llama-quantize >build.log
ln -sfn build/bin bin
echo "peer: llama.cpp of llama-cpp-python $version in $dir/bin"
