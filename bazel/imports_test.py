"""Every module of a package imports with nothing at hand but what the package may depend on.

Folders run in the order data flows, so an import that runs backwards fails here: the module is not there.
"""

import importlib
import os

import pytest


@pytest.mark.parametrize("module", os.environ["LANE_MODULES"].split())
def test_imports(module: str) -> None:
    importlib.import_module(module)
