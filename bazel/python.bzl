"""Python targets: packages of lane, tests run by pytest, files written by a module."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

def pytest_test(name, srcs, deps = [], args = [], size = "medium", **kwargs):
    """A py_test that runs pytest on its sources."""
    py_test(
        name = name,
        size = size,
        srcs = srcs + ["//bazel:pytest_main.py"],
        args = args + ["$(rootpath %s)" % src for src in srcs],
        main = "//bazel:pytest_main.py",
        deps = deps + ["@tests//:pytest"],
        **kwargs
    )

def pytest_tests(deps, data = [], env = {}, size = "medium", differing = {}):
    """One test for each test_*.py of the folder; its other files and conftest.py are at hand in each.

    Args:
      deps: what every test of the folder imports.
      data: what every test of the folder reads.
      env: environment variables of every test.
      size: of every test.
      differing: by a test's name, attributes of its own; deps, data and env add to the folder's.
    """
    tests = native.glob(["test_*.py"])
    py_library(
        name = "support",
        testonly = True,
        srcs = native.glob(["*.py"], exclude = tests, allow_empty = True),
    )
    for test in tests:
        name = test.removesuffix(".py")
        own = dict(differing.get(name, {}))
        pytest_test(
            name = name,
            size = own.pop("size", size),
            srcs = [test],
            data = data + own.pop("data", []),
            env = env | own.pop("env", {}),
            deps = deps + own.pop("deps", []) + [":support"],
            **own
        )
    for name in differing:
        if name + ".py" not in tests:
            fail("%s: no test of this name in the folder" % name)

def lane_library(name, srcs, deps = [], **kwargs):
    """Modules of lane, and a test that they import with no more than `deps` at hand."""
    py_library(
        name = name,
        srcs = srcs,
        imports = ["../" * (len(native.package_name().split("/")) - 1)],
        visibility = ["//visibility:public"],
        deps = deps,
        **kwargs
    )
    folder = native.package_name().removeprefix("python/").replace("/", ".")
    modules = [(folder + "." + src.removesuffix(".py").replace("/", ".")).removesuffix(".__init__") for src in srcs]
    pytest_test(
        name = name + "_imports_test",
        srcs = ["//bazel:imports_test.py"],
        env = {"LANE_MODULES": " ".join(modules)},
        deps = [":" + name],
    )

def lane_package(deps = [], **kwargs):
    """A folder of lane: all its modules, which may import themselves and `deps`."""
    lane_library(
        name = native.package_name().split("/")[-1],
        srcs = native.glob(["**/*.py"]),
        deps = deps + ["//python/lane:base"],
        **kwargs
    )

def _module_file_impl(ctx):
    ctx.actions.run(
        executable = ctx.executable.writer,
        arguments = [a.replace("$@", ctx.outputs.out.path) for a in ctx.attr.arguments],
        outputs = [ctx.outputs.out],
        mnemonic = "PythonModule",
        progress_message = "Writing %{output}",
        use_default_shell_env = True,
    )

# A rule rather than a genrule, whose tools are built in a configuration of their own: the extension would be
# compiled twice.
_module_file = rule(
    _module_file_impl,
    attrs = {
        "arguments": attr.string_list(),
        "out": attr.output(mandatory = True),
        "writer": attr.label(cfg = "target", executable = True, mandatory = True),
    },
)

def module_file(name, module, out, deps, arguments = ["$@"], **kwargs):
    """Writes the file `out` by `python -m module arguments`, where $@ is the file."""
    py_binary(
        name = name + "_writer",
        srcs = ["//bazel:run_module.py"],
        main = "//bazel:run_module.py",
        deps = deps,
    )
    _module_file(
        name = name,
        arguments = [module] + arguments,
        out = out,
        writer = ":%s_writer" % name,
        **kwargs
    )
