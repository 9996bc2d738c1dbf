# Sourced. Makes sure that there is a compiler for C++20 and a Python of at least 3.11 with venv and headers: on
# Debian, as root, by installing what is missing; elsewhere by saying what is.

lane_python_is_complete() {
  "${LANE_PYTHON:-python3}" - >/dev/null 2>&1 <<'PY'
import ensurepip, os, sys, sysconfig, venv
headers = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
sys.exit(not (headers and sys.version_info >= (3, 11)))
PY
}

lane_compiler_is_complete() {
  printf '#include <bit>\n#include <span>\nint main() { return std::popcount(0u); }\n' |
    "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - >/dev/null 2>&1
}

lane_prerequisites() {
  local missing=()
  lane_python_is_complete || missing+=(python3 python3-venv python3-dev)
  lane_compiler_is_complete || missing+=(g++)
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
  lane_python_is_complete ||
    { echo "${LANE_PYTHON:-python3} is not a Python >= 3.11 with venv and headers (Debian: python3 python3-venv python3-dev)" >&2; exit 1; }
  lane_compiler_is_complete ||
    { echo "${CXX:-c++} does not compile C++20 (Debian: g++)" >&2; exit 1; }
}
