"""What fuzzing has come upon: inputs that reach what the made seeds do not, one archive a kind in tests/fuzz/corpus.

    python -m tests.fuzz.kept KIND SEEDS FOLDER

makes KIND's archive of the inputs in FOLDER that are not in SEEDS. keep.sh runs it over a run's corpora.
"""

import hashlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus")


def read(kind: str) -> Iterator[bytes]:
    """A kind's inputs."""
    with zipfile.ZipFile(CORPUS / f"{kind}.zip") as archive:
        for name in archive.namelist():
            yield archive.read(name)


def write(kind: str, inputs: set[bytes]) -> None:
    """Makes a kind's archive, the same for the same inputs."""
    named = sorted((hashlib.sha1(data).hexdigest(), data) for data in inputs)
    with zipfile.ZipFile(CORPUS / f"{kind}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in named:
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def main() -> None:
    kind, seeds, folder = sys.argv[1:]
    known = {path.read_bytes() for path in Path(seeds).iterdir()} - set(read(kind))
    write(kind, {path.read_bytes() for path in Path(folder).iterdir()} - known)


if __name__ == "__main__":
    main()
