#!/usr/bin/env bash
# Installs Bazel 7 on Debian 12 from Debian's own packages: for machines that reach package mirrors and nothing else.
# Elsewhere bazelisk does (MODULE.bazel names only what the public registry lists) and this script is not needed.
#
# Debian's bazel-bootstrap of a newer suite goes into a private prefix with the glibc, libstdc++ and Java runtime it
# was built for, and a launcher onto PATH. Compile and test actions still use the host's toolchain. Modules come from
# Debian's trees too: nothing is fetched when Bazel runs.
#
#   BAZEL_PREFIX    default /opt/bazel7               BAZEL_SUITES   default "forky sid"
#   BAZEL_LAUNCHER  default /usr/local/bin/bazel      DEBIAN_MIRROR  default: the one that apt uses
set -euo pipefail
prefix=${BAZEL_PREFIX:-/opt/bazel7}
launcher=${BAZEL_LAUNCHER:-/usr/local/bin/bazel}
suites=${BAZEL_SUITES:-"forky sid"}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
here=$(cd "$(dirname "$0")" && pwd)

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || [ "$(dpkg --print-architecture)" != amd64 ]; then
  echo "setup_bazel: needs Debian on amd64 and root; elsewhere install bazelisk as 'bazel'" >&2
  exit 1
fi
stamp="$(cat "$0" "$here/setup_bazel_modules.py" | sha256sum | cut -c1-16) $prefix $launcher"
if [ "$(cat "$prefix/.stamp" 2>/dev/null)" = "$stamp" ] && [ -x "$launcher" ]; then
  echo "bazel: already set up in $prefix"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What the steps below and every build need of the host. googletest: its sources, 1.12.1 as in MODULE.bazel.
host_packages() {
  local missing=() package
  for package in patchelf g++ unzip zip googletest; do
    case "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" in
      *" installed") ;;
      *) missing+=("$package") ;;
    esac
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

mirror_in_use() {
  apt-get indextargets --format '$(REPO_URI)' 'Component: main' 2>/dev/null | awk '!/security/ { print; exit }'
}

# apt with a configuration of its own, so that the host's state is not touched. Packages that Bazel's depend on but
# that it does not need at run time, or that the host has, are claimed to be installed.
apt_config() {
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  cat > "$work/apt.conf" <<CONF
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
Acquire::Retries "3";
CONF
  local package
  for package in build-essential python3 unzip zlib1g-dev perl debconf util-linux openssl-provider-legacy \
    default-jdk-headless default-jre-headless default-jre ca-certificates-java java-common \
    libnss3 libpcsclite1 liblcms2-2 libjpeg62-turbo; do
    printf '%s\n' "Package: $package" "Status: install ok installed" "Architecture: amd64" \
      "Multi-Arch: foreign" "Version: 999:1" "Description: claimed" ""
  done > "$work/status"
}

# Fetches the packages from the first suite that has a Bazel 7, whose name goes to $suite.
download() {
  local mirror=${DEBIAN_MIRROR:-$(mirror_in_use)}
  [ -n "$mirror" ] || { apt-get update -qq && mirror=$(mirror_in_use); }
  export APT_CONFIG=$work/apt.conf
  for suite in $suites; do
    echo "deb [signed-by=$keyring] $mirror $suite main" > "$work/sources.list"
    apt-get update -qq || continue
    case "$(apt-cache policy bazel-bootstrap)" in *"Candidate: 7."*) ;; *) continue ;; esac
    # libblake3-0: Bazel's JNI library needs it; the package does not say so.
    apt-get install -y -qq --download-only bazel-bootstrap libblake3-0 openjdk-21-jre-headless >/dev/null &&
      { unset APT_CONFIG; return; }
  done
  echo "setup_bazel: no suite of [$suites] at $mirror has bazel-bootstrap 7.x" >&2
  exit 1
}

# A server started from the old prefix must not outlive it.
stop_servers() {
  local file pid
  for file in "${HOME:-/root}"/.cache/bazel/_bazel_*/*/server/server.pid.txt; do
    [ -f "$file" ] || continue
    pid=$(cat "$file")
    if grep -qs -- "$prefix/usr/share/bazel" "/proc/$pid/cmdline"; then kill "$pid" || true; fi
  done
}

unpack() {
  rm -rf "$prefix"
  mkdir -p "$prefix"
  find "$work/cache/archives" -name '*.deb' -print0 | sort -z | xargs -0 -P "$(nproc)" -I{} sh -c \
    'dpkg-deb --fsys-tarfile "{}" | tar -x -C "'"$prefix"'" --keep-directory-symlink --no-same-owner \
       --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/maven-repo \
       --exclude=./usr/share/locale --exclude=./usr/share/lintian --exclude=./usr/share/eclipse'
  (cd "$work/cache/archives" && sha256sum -- *.deb) > "$prefix/debs.sha256" # what was installed, for the record
}

# Absolute links and the programs' loader are led into the prefix.
relocate() {
  local libraries=$prefix/usr/lib/x86_64-linux-gnu java=$prefix/usr/lib/jvm/java-21-openjdk-amd64 link file target rpath
  find "$prefix" -type l -lname '/*' | while read -r link; do
    target=$(readlink "$link")
    if [ -e "$prefix$target" ]; then ln -sfn "$prefix$target" "$link"; fi
  done
  for file in "$prefix"/usr/bin/bazel "$prefix"/usr/libexec/x86_64-linux-gnu/bazel/* "$java"/bin/* \
    "$java"/lib/jspawnhelper; do
    if [ ! -f "$file" ] || [ -L "$file" ] || ! patchelf --print-interpreter "$file" >/dev/null 2>&1; then continue; fi
    rpath=$(patchelf --print-rpath "$file")
    patchelf --set-interpreter "$libraries/ld-linux-x86-64.so.2" --force-rpath \
      --set-rpath "${rpath:+$rpath:}$libraries" "$file"
  done
}

write_launcher() {
  mkdir -p "$(dirname "$launcher")"
  printf '#!/bin/sh\nexec %s/usr/bin/bazel --nosystem_rc --bazelrc=%s/bazelrc "$@"\n' "$prefix" "$prefix" > "$launcher"
  chmod 755 "$launcher"
}

# The server, its JNI library, the sandbox and the host's compiler, in one small build.
try_it() {
  mkdir "$work/try"
  cd "$work/try"
  echo 'module(name = "try")' > MODULE.bazel
  echo 'int main() { return 0; }' > main.cc
  echo 'cc_binary(name = "main", srcs = ["main.cc"])' > BUILD.bazel
  "$launcher" --batch --output_user_root="$work/out" build --noshow_progress //:main >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  chmod -R u+w "$work/out"
  cd /
}

host_packages
apt_config
download
stop_servers
unpack
relocate
python3 "$here/setup_bazel_modules.py" "$prefix"
write_launcher
try_it
echo "$stamp" > "$prefix/.stamp"
echo "bazel: $(basename "$(find "$work/cache/archives" -name 'bazel-bootstrap_*')" .deb) of $suite in $prefix, launcher $launcher"
