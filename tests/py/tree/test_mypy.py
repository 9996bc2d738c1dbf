"""The package passes the type checker at its strictest, against the stub of the extension as built."""

import os
from pathlib import Path

from mypy import api


def test_strict(tmp_path: Path) -> None:
    config = Path(os.environ["LANE_TREE"]).parent / "pyproject.toml"  # a runfile: so are the sources beside it
    out, err, status = api.run(["--config-file", str(config), "--cache-dir", str(tmp_path), "-p", "lane"])
    assert status == 0, out + err
