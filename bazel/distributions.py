"""In: a folder that pip has filled. Out, on standard output: a BUILD file with one py_library a distribution.

A target holds the files that the distribution's RECORD lists and depends on the installed distributions that its
metadata requires. Tests of the packages themselves are left out, as are names that Bazel cannot take. Every file
can also be named by itself, e.g. @models//:site/PACKAGE/FILE.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

HEADER = """\
load("@rules_python//python:defs.bzl", "py_library")

package(default_visibility = ["//visibility:public"])
"""


def target(name: str) -> str:
    """The name of a distribution's target: its normalised name, as a Python identifier."""
    return re.sub(r"[-_.]+", "_", name).lower()


def files(site: Path, distribution: Distribution) -> Iterator[str]:
    for entry in distribution.files or []:
        # pip --target moves scripts into site/bin and leaves ../../bin in the record.
        path = "bin/" + entry.name if ".." in entry.parts else entry.as_posix()
        skipped = re.search(r"(^|/)(tests|__pycache__)/|[^\w/.+@-]", path)
        if not skipped and (site / path).is_file():
            yield f"{site.name}/{path}"


def requirements(distribution: Distribution) -> Iterator[str]:
    for requirement in distribution.requires or []:
        name = re.match(r"[\w.-]+", requirement)
        if name and "extra ==" not in requirement:
            yield target(name.group())


def text(values: list[str], indent: str) -> str:
    return "[\n" + "".join(f'{indent}    "{value}",\n' for value in values) + indent + "]"


def main() -> None:
    site = Path(sys.argv[1])
    installed = {target(d.metadata["Name"]): d for d in distributions(path=[str(site)])}
    out, every = [HEADER], set()
    for name, distribution in sorted(installed.items()):
        data = sorted(set(files(site, distribution)))
        deps = sorted({":" + r for r in requirements(distribution) if r in installed and r != name})
        every.update(data)
        out.append(
            f'\npy_library(\n    name = "{name}",\n    data = {text(data, "    ")},\n'
            f'    imports = ["{site.name}"],\n    deps = {text(deps, "    ")},\n)\n'
        )
    out.append(f"\nexports_files({text(sorted(every), '')})\n")
    sys.stdout.write("".join(out))


main()
