"""Runs a module as `python -m MODULE ARGUMENTS` does, from a target's own dependencies."""

import runpy
import sys

module = sys.argv[1]
del sys.argv[1]
runpy.run_module(module, run_name="__main__", alter_sys=True)
