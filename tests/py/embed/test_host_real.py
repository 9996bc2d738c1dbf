"""The example host on a real checkpoint: the tokens of exact arithmetic as long as they are sure, and those of lane."""

from __future__ import annotations

from pathlib import Path

import lane
from lane.launch.record import Numerics
from tests.py.embed.hosts import generate, write_plan
from tests.py.support.real import greedy, path

CONTEXT = 512
GAP = 0.02  # between the two best logits: under it int8x2 may choose another (the fixtures' bar)


def test_exact_tokens(tmp_path: Path) -> None:
    checkpoint = path("smol")
    plan = write_plan(checkpoint, tmp_path / "plan", Numerics.INT8X2, CONTEXT)
    cases = greedy("smol")
    assert cases
    for case in cases:
        sure = case.sure(GAP)
        assert generate(checkpoint, plan, case.prompt, sure) == case.tokens[:sure]


def test_tokens_of_lane(tmp_path: Path) -> None:
    checkpoint = path("smol")
    plan = write_plan(checkpoint, tmp_path / "plan", Numerics.INT8, CONTEXT)
    model = lane.load(checkpoint, ctx=CONTEXT)
    for case in greedy("smol")[:3]:
        expected = [piece.id for piece in model.generate(case.prompt, 32)]
        assert generate(checkpoint, plan, case.prompt, len(expected)) == expected
