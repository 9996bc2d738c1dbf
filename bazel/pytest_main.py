"""Runs pytest under `bazel test`: JUnit XML, --test_filter, and folders of the test's own to write into."""

import os
import sys
from pathlib import Path

scratch = Path(os.environ["TEST_TMPDIR"])
os.environ["HOME"] = str(scratch)
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch / "hypothesis")

import pytest  # noqa: E402  (after the environment that its plugins read)

arguments = ["-v", "-ra", "--strict-markers", "--strict-config", "-p", "no:cacheprovider", "--rootdir=."]
arguments += ["--import-mode=importlib", f"--basetemp={scratch / 'pytest'}"]
arguments.append("--junitxml=" + os.environ["XML_OUTPUT_FILE"])
if chosen := os.environ.get("TESTBRIDGE_TEST_ONLY"):
    arguments += ["-k", chosen]
sys.exit(pytest.main(arguments + sys.argv[1:]))
