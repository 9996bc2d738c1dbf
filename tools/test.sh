#!/usr/bin/env bash
# Runs every test, setting up Bazel first if there is none. Arguments go to `bazel test`; without any, all targets.
# The last line counts single test cases: N passed, N failed.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/prerequisites.sh
lane_prerequisites
bazel=$(command -v bazel || command -v bazelisk || true)
if [ -z "$bazel" ]; then
  tools/setup_bazel.sh
  bazel=$(command -v bazel)
fi

events=$(mktemp)
trap 'rm -f "$events"' EXIT
status=0
"$bazel" test --keep_going --build_event_json_file="$events" "${@:-//...}" || status=$?
"${LANE_PYTHON:-python3}" tools/count_tests.py "$events" || status=1
exit "$status"
