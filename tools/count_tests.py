"""In: the build events of a `bazel test`. Out: `N passed, N failed`, counted in test cases, not in targets.

The cases are those of each target's XML; skipped ones are neither. A target that failed without a failing case in
its XML (it crashed, ran out of time, was interrupted, did not build) counts as one failed. Exits with 1 if any failed
or none ran.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse


def results(events: Path) -> Iterator[tuple[tuple[object, ...], dict[str, Any]]]:
    """What came of each test action that ran, and of each test target that did not build."""
    for line in events.read_text().splitlines():
        event = json.loads(line)
        if test := event["id"].get("testResult"):
            yield (test["label"], test.get("shard"), test.get("run")), event.get("testResult", {"status": "ABORTED"})
        summary = event.get("testSummary", {})
        if summary.get("overallStatus") in ("NO_STATUS", "FAILED_TO_BUILD"):
            yield (event["id"]["testSummary"]["label"], "summary"), {"status": summary["overallStatus"]}


def cases(result: dict[str, Any]) -> tuple[int, int]:
    """The numbers of passed and failed cases in a test action's XML."""
    passed = failed = 0
    for output in result.get("testActionOutput", []):
        path = Path(unquote(urlparse(output.get("uri", "")).path))
        if output["name"] == "test.xml" and path.is_file():
            for case in ElementTree.parse(path).iter("testcase"):
                if case.find("failure") is not None or case.find("error") is not None:
                    failed += 1
                elif case.find("skipped") is None and case.get("status") != "notrun":
                    passed += 1
    if result["status"] != "PASSED" and failed == 0:
        failed = 1
    return passed, failed


def main() -> int:
    last = dict(results(Path(sys.argv[1])))  # of a test that was tried again, the last attempt counts
    counts = [cases(result) for result in last.values()]
    passed, failed = sum(p for p, _ in counts), sum(f for _, f in counts)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
