"""In: a prefix into which tools/setup_bazel.sh has unpacked Debian's Bazel. Out: the same, able to run offline.

The class path is led into the prefix; every module that Bazel or this project loads gets a local tree; an rc file,
which only this launcher reads, names them. Versions in MODULE.bazel stay those of the public registry.
"""

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

PREFIX = Path(sys.argv[1])
BAZEL = PREFIX / "usr/share/bazel"
MODULES = PREFIX / "modules"
REGISTRY = PREFIX / "registry"
GOOGLETEST_SOURCES = Path("/usr/src/googletest")
GOOGLETEST_VERSION = "1.12.1"

GOOGLETEST_MODULE = f"""\
module(name = "googletest", version = "{GOOGLETEST_VERSION}", compatibility_level = 1)

bazel_dep(name = "rules_cc", version = "0.0.11")
"""

GOOGLETEST_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "gtest",
    srcs = ["googletest/src/gtest-all.cc", "googlemock/src/gmock-all.cc"],
    hdrs = glob(["googletest/include/**/*.h", "googlemock/include/**/*.h"]),
    textual_hdrs = glob(["googletest/src/*", "googlemock/src/*"], exclude = ["**/*-all.cc", "**/*_main.cc"]),
    includes = ["googletest", "googletest/include", "googlemock", "googlemock/include"],
    linkopts = ["-pthread"],
)

cc_library(
    name = "gtest_main",
    srcs = ["googlemock/src/gmock_main.cc"],
    deps = [":gtest"],
)
"""

# `bazel mod` evaluates this extension of bazel_tools; no build uses what it makes.
BUILDOZER = """\
def _empty_impl(rctx):
    rctx.file("BUILD.bazel", "")

_empty = repository_rule(_empty_impl)
buildozer_binary = module_extension(lambda mctx: _empty(name = "buildozer_binary"))
"""


def class_path() -> None:
    """Debian's list and the jars' own Class-Path entries name files of /usr/share/java."""
    listing = BAZEL / "bazel_classpath_debian_depends.txt"
    named = [Path(f"{PREFIX}{jar}") for jar in listing.read_text().split()]
    jars = [jar for jar in named if jar.exists()]
    seen = {jar.resolve() for jar in jars}
    for jar in jars:  # grows while it is walked
        with zipfile.ZipFile(jar) as archive:
            if "META-INF/MANIFEST.MF" not in archive.namelist():
                continue
            manifest = archive.read("META-INF/MANIFEST.MF").decode().replace("\r\n", "\n").replace("\n ", "")
        for entry in " ".join(re.findall(r"^Class-Path: *(.*)$", manifest, re.M)).split():
            path = Path(f"{PREFIX}{entry}") if entry.startswith("/") else jar.resolve().parent / entry
            if path.exists() and path.resolve() not in seen:
                seen.add(path.resolve())
                jars.append(path)
    listing.write_text("\n".join(map(str, jars)) + "\n")


def googletest() -> None:
    """Offered by a registry: an override of a module that some other project does not use would be an error."""
    tree = MODULES / "googletest"
    shutil.copytree(GOOGLETEST_SOURCES, tree)
    for name in ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"):
        for file in list(tree.rglob(name)):  # Debian's tree may carry build files of its own
            file.unlink()
    (tree / "MODULE.bazel").write_text(GOOGLETEST_MODULE)
    (tree / "BUILD.bazel").write_text(GOOGLETEST_BUILD)
    entry = REGISTRY / "modules/googletest" / GOOGLETEST_VERSION
    entry.mkdir(parents=True)
    (entry / "MODULE.bazel").write_text(GOOGLETEST_MODULE)
    (entry / "source.json").write_text(json.dumps({"type": "local_path", "path": str(tree)}) + "\n")
    (REGISTRY / "bazel_registry.json").write_text("{}\n")


def dependencies(tree: Path) -> set[str]:
    calls = re.findall(r"^bazel_dep\((.*?)\)", (tree / "MODULE.bazel").read_text(), re.M | re.S)
    names = [re.search(r'name = "([^"]+)"', call) for call in calls if "dev_dependency = True" not in call]
    return {name.group(1) for name in names if name}


def overrides() -> dict[str, Path]:
    """Debian's module trees, and empty ones for modules that those name but of which nothing is loaded."""
    rc = (PREFIX / "etc/bazel/bazelrc").read_text()
    found = re.findall(r"^common --override_module=([^=]+)=(/usr/\S+)", rc, re.M)
    trees = {name: Path(f"{PREFIX}{path}") for name, path in found}
    wanted = set().union(*map(dependencies, [BAZEL / "embedded_tools", *trees.values()]))
    for name in sorted(wanted - set(trees)):
        trees[name] = MODULES / "empty" / name
        trees[name].mkdir(parents=True)
        (trees[name] / "MODULE.bazel").write_text(f'module(name = "{name}")\n')
        (trees[name] / "BUILD.bazel").touch()
    (trees["buildozer"] / "buildozer_binary.bzl").write_text(BUILDOZER)
    return trees


def main() -> None:
    class_path()
    googletest()
    lines = [
        f"startup --install_base={BAZEL} --trust_install_base",
        f"startup --server_javabase={PREFIX}/usr/lib/jvm/java-21-openjdk-amd64",
        f"common --registry=file://{REGISTRY} --lockfile_mode=off --noenable_workspace",
        *(f"common --override_module={name}={tree}" for name, tree in sorted(overrides().items())),
    ]
    (PREFIX / "bazelrc").write_text("\n".join(lines) + "\n")


main()
