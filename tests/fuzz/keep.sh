#!/usr/bin/env bash
# Keeps what a run has come upon: of the corpora that run.sh left in FOLDER, the inputs that reach what the seeds do not
# go into tests/fuzz/corpus.
#
#   tests/fuzz/keep.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(cd "$1" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH=.:python${PYTHONPATH:+:$PYTHONPATH}

merge() { # kind, target, the fuzzer
  echo "$1: from $2"
  "${@:3}" -merge=1 "$folder/merged/$1" "$folder/$2" 2>"$folder/merge.log"
}
rm -rf "$folder/merged"
cp -r "$folder/seeds" "$folder/merged"
merge files gguf "$folder/gguf_fuzz"
merge splits gguf_split "$folder/gguf_split_fuzz"
merge files checkpoint "$python" -m tests.fuzz.checkpoint_fuzz
merge edits model "$python" -m tests.fuzz.model_fuzz
merge templates template "$python" -m tests.fuzz.template_fuzz
for kind in files splits edits templates; do
  "$python" -m tests.fuzz.kept "$kind" "$folder/seeds/$kind" "$folder/merged/$kind"
done
