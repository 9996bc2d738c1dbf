"""C++ targets: one library a folder, one test a file."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")

COPTS = ["-Wall", "-Wextra", "-Werror"]

# The instruction sets that a file's name may ask for (NAME_avx2.cc), and their flags; CMakeLists.txt has the same.
_AVX2 = ["-mavx2", "-mfma", "-mf16c"]
ISA_COPTS = {
    "avx2": _AVX2,
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni"] + _AVX2,
}

def lane_cc_library(name, deps = [], copts = [], **kwargs):
    """A folder's sources and headers."""
    cc_library(
        name = name,
        srcs = native.glob(["*.cc"]),
        hdrs = native.glob(["*.h"], allow_empty = True),
        copts = COPTS + copts,
        linkopts = ["-pthread"],
        linkstatic = True,
        visibility = ["//visibility:public"],
        deps = deps,
        **kwargs
    )

def lane_kernel_library(name, deps = [], copts = []):
    """A folder's sources and headers, each file compiled for the instruction set that its name says.

    On other architectures the files that name one are left out.
    """
    headers = name + "_headers"
    cc_library(
        name = headers,
        hdrs = native.glob(["**/*.h"]),
        visibility = ["//visibility:private"],
        deps = deps,
    )
    wide = []
    for isa, flags in ISA_COPTS.items():
        # alwayslink: the folder's parts call each other, in both directions.
        cc_library(
            name = name + "_" + isa,
            srcs = native.glob(["*_%s.cc" % isa], allow_empty = True),
            alwayslink = True,
            copts = COPTS + copts + flags,
            linkstatic = True,
            target_compatible_with = ["@platforms//cpu:x86_64"],
            deps = [":" + headers],
        )
        wide.append(":" + name + "_" + isa)
    cc_library(
        name = name,
        srcs = native.glob(["*.cc"], exclude = ["*_%s.cc" % isa for isa in ISA_COPTS]),
        alwayslink = True,
        copts = COPTS + copts,
        linkopts = ["-pthread"],
        linkstatic = True,
        visibility = ["//visibility:public"],
        deps = [":" + headers] + select({
            "@platforms//cpu:x86_64": wide,
            "//conditions:default": [],
        }),
    )

def lane_cc_tests(deps, data = [], size = "medium", **kwargs):
    """One test for each *_test.cc of the folder; its headers are at hand in each."""
    for test in native.glob(["*_test.cc"]):
        cc_test(
            name = test.removesuffix(".cc"),
            size = size,
            srcs = [test] + native.glob(["*.h"], allow_empty = True),
            copts = COPTS,
            data = data,
            linkstatic = True,
            deps = deps + ["@googletest//:gtest_main"],
            **kwargs
        )
