"""Repositories made from what the host has: its Python, and PyPI packages installed by it from hash-pinned locks."""

_DESCRIBE = """
import sys, sysconfig
print(sys.executable)
print(sysconfig.get_path("include"))
print("%d.%d.%d" % sys.version_info[:3])
"""

def _python(rctx):
    name = rctx.os.environ.get("LANE_PYTHON") or "python3"
    exe = name if name.startswith("/") else rctx.which(name)
    if not exe:
        fail("Python: no %s on PATH; install Python 3.11 or newer, or name one in LANE_PYTHON" % name)

    # sys.executable is the interpreter itself where PATH has only a shim of a version manager.
    described = rctx.execute([exe, "-c", _DESCRIBE])
    if described.return_code:
        fail("Python: %s failed: %s" % (exe, described.stderr))
    exe, include, version = described.stdout.strip().split("\n")
    if [int(part) for part in version.split(".")] < [3, 11, 0]:
        fail("Python: %s is %s; lane needs 3.11 or newer (LANE_PYTHON names another)" % (exe, version))
    if not rctx.path(include + "/Python.h").exists:
        fail("Python: %s has no headers in %s (Debian: apt-get install python3-dev)" % (exe, include))
    return exe, include, version

def _venv(rctx, exe, name, *options):
    made = rctx.execute([exe, "-m", "venv"] + list(options) + [name])
    if made.return_code:
        fail("Python: %s -m venv failed (Debian: apt-get install python3-venv): %s" % (exe, made.stdout + made.stderr))
    return str(rctx.path(name + "/bin/python"))

def _local_python_impl(rctx):
    exe, include, version = _python(rctx)

    # Tests run in a bare environment: they see the locked packages they name and the standard library, nothing of
    # the host's. The second one has pip, which fills the package repositories.
    interpreter = _venv(rctx, exe, "venv", "--without-pip", "--symlinks")
    installer = _venv(rctx, exe, "installer", "--symlinks")
    rctx.symlink(include, "include")
    rctx.file("installer.txt", installer + "\n" + version + "\n")
    rctx.file("BUILD.bazel", """\
load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_python//python:defs.bzl", "py_runtime", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

# Python {version} from {exe}
py_runtime(
    name = "runtime",
    interpreter_path = "{interpreter}",
    python_version = "PY3",
    stub_shebang = "#!{interpreter}",
)

py_runtime_pair(
    name = "pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "py_toolchain",
    toolchain = ":pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
)
""".format(exe = exe, version = version, interpreter = interpreter))

_local_python = repository_rule(
    _local_python_impl,
    configure = True,
    environ = ["LANE_PYTHON", "PATH"],
    local = True,
)

def _run_pip(rctx, arguments, kind = "--only-binary=:all:", environment = {}):
    installer = rctx.read(rctx.attr._installer).split("\n")[0]
    common = ["--require-hashes", "--no-deps", kind, "--disable-pip-version-check", "--quiet"]
    result = rctx.execute(
        [installer, "-m", "pip"] + arguments[:1] + common + arguments[1:],
        timeout = 1800,
        environment = {"PIP_NO_INPUT": "1", "PYTHONDONTWRITEBYTECODE": "1"} | environment,
    )
    if result.return_code:
        fail("pip %s failed:\n%s" % (" ".join(arguments), result.stderr))

_PIP_ENVIRON = ["PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL"]
_INSTALLER = attr.label(default = "@local_python//:installer.txt")

def _pip_impl(rctx):
    installer = rctx.read(rctx.attr._installer).split("\n")[0]
    lock = rctx.path(rctx.attr.lock)
    rctx.report_progress("pip install -r " + lock.basename)
    _run_pip(rctx, ["install", "--no-compile", "--no-warn-script-location", "--root-user-action=ignore", "--target", "site", "-r", str(lock)])
    described = rctx.execute([installer, str(rctx.path(rctx.attr._distributions)), "site"])
    if described.return_code:
        fail("describing what pip installed failed:\n" + described.stderr)
    end = rctx.read(rctx.attr.build_file_end) if rctx.attr.build_file_end else ""
    rctx.file("BUILD.bazel", described.stdout + end)

_pip = repository_rule(
    _pip_impl,
    attrs = {
        "build_file_end": attr.label(allow_single_file = True),
        "lock": attr.label(mandatory = True, allow_single_file = True),
        "_distributions": attr.label(default = "//bazel:distributions.py"),
        "_installer": _INSTALLER,
    },
    environ = _PIP_ENVIRON,
)

def _wheels_impl(rctx):
    for label in rctx.attr.locks:
        lock = rctx.path(label)
        rctx.report_progress("pip download -r " + lock.basename)
        _run_pip(rctx, ["download", "--dest", "wheels", "-r", str(lock)])
    rctx.file("BUILD.bazel", """\
filegroup(
    name = "wheels",
    srcs = glob(["wheels/*.whl"]),
    visibility = ["//visibility:public"],
)
""")

_wheels = repository_rule(
    _wheels_impl,
    attrs = {
        "locks": attr.label_list(mandatory = True, allow_files = True),
        "_installer": _INSTALLER,
    },
    environ = _PIP_ENVIRON,
)

# Members of a source package whose paths start with a prefix, in one folder, which is the label @NAME//:files.
_EXTRACT = """
import pathlib, sys, tarfile
out = pathlib.Path("files")
out.mkdir()
with tarfile.open(sys.argv[1]) as package:
    for member in package:
        path = member.name.partition("/")[2]
        if member.isfile() and path.startswith(sys.argv[2]):
            (out / pathlib.PurePosixPath(path).name).write_bytes(package.extractfile(member).read())
"""

def _source_files_impl(rctx):
    lock = rctx.path(rctx.attr.lock)
    rctx.report_progress("pip download -r " + lock.basename)

    # pip asks a source package's build backend for its metadata, even where only the files are wanted.
    _run_pip(rctx, ["install", "--target", "backend", "-r", str(rctx.path(rctx.attr.build_lock))])
    _run_pip(
        rctx,
        ["download", "--no-build-isolation", "--dest", "download", "-r", str(lock)],
        kind = "--no-binary=:all:",
        environment = {"PYTHONPATH": str(rctx.path("backend"))},
    )
    package = rctx.path("download").readdir()[0]
    installer = rctx.read(rctx.attr._installer).split("\n")[0]
    extracted = rctx.execute([installer, "-c", _EXTRACT, str(package), rctx.attr.prefix])
    if extracted.return_code:
        fail("reading %s failed:\n%s" % (package.basename, extracted.stderr))
    rctx.delete("backend")
    rctx.delete("download")
    rctx.file("BUILD.bazel", 'exports_files(["files"])\n')

_source_files = repository_rule(
    _source_files_impl,
    attrs = {
        "build_lock": attr.label(mandatory = True, allow_single_file = True),
        "lock": attr.label(mandatory = True, allow_single_file = True),
        "prefix": attr.string(mandatory = True),
        "_installer": _INSTALLER,
    },
    environ = _PIP_ENVIRON,
)

def _local_impl(mctx):
    _local_python(name = "local_python")
    for mod in mctx.modules:
        for tag in mod.tags.pip:
            _pip(name = tag.name, lock = tag.lock, build_file_end = tag.build_file_end)
        for tag in mod.tags.wheels:
            _wheels(name = tag.name, locks = tag.locks)
        for tag in mod.tags.source_files:
            _source_files(name = tag.name, lock = tag.lock, build_lock = tag.build_lock, prefix = tag.prefix)

local = module_extension(
    _local_impl,
    tag_classes = {
        "pip": tag_class({
            "build_file_end": attr.label(doc = "text that ends the repository's BUILD file"),
            "lock": attr.label(mandatory = True),
            "name": attr.string(mandatory = True),
        }),
        "source_files": tag_class({
            "build_lock": attr.label(doc = "what the package's build backend needs", mandatory = True),
            "lock": attr.label(doc = "one source package", mandatory = True),
            "name": attr.string(mandatory = True),
            "prefix": attr.string(doc = "of the wanted files' paths in the package", mandatory = True),
        }),
        "wheels": tag_class({
            "locks": attr.label_list(mandatory = True),
            "name": attr.string(mandatory = True),
        }),
    },
)
