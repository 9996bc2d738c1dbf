#!/usr/bin/env bash
# Fuzzes what reads untrusted files: every target for SECONDS each, those in C++ under AddressSanitizer and UBSan, from
# the seeds that make_corpus writes. What is found stays in FOLDER, as do the corpora, which a later run starts from.
#
#   tests/fuzz/run.sh SECONDS FOLDER
#
# Needs clang (CLANG names it, default clang++), a built lane._core in the package, and the Python package atheris.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
folder=$(mkdir -p "$2" && cd "$2" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH=.:python${PYTHONPATH:+:$PYTHONPATH}

"$python" -m tests.fuzz.make_corpus "$folder/seeds"
for target in gguf gguf_split; do
  seeds=$folder/seeds/files
  if [ $target = gguf_split ]; then seeds=$folder/seeds/splits; fi
  mkdir -p "$folder/$target"
  "${CLANG:-clang++}" -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. \
    tests/fuzz/${target}_fuzz.cc cpp/runtime/{gguf,gguf_cursor,gguf_part,gguf_split,lost_pages,mapped_file,sha256,utf8}.cc \
    -o "$folder/${target}_fuzz"
  "$folder/${target}_fuzz" -max_total_time="$seconds" -max_len=16384 -timeout=5 -rss_limit_mb=512 \
    -dict=tests/fuzz/gguf.dict -artifact_prefix="$folder/$target-" -print_final_stats=1 "$folder/$target" "$seeds"
done
fuzz_python() { # target, its seeds, its longest input, its dictionary
  mkdir -p "$folder/$1"
  "$python" -m "tests.fuzz.$1_fuzz" "$folder/$1" "$folder/seeds/$2" -max_total_time="$seconds" -max_len="$3" \
    -timeout=60 -dict="tests/fuzz/$4.dict" -artifact_prefix="$folder/$1-" -print_final_stats=1
}
fuzz_python checkpoint files 16384 gguf
fuzz_python model edits 128 gguf
fuzz_python template templates 2048 template
