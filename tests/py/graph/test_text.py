"""The text form of step graphs: goldens of the decode step and of a chunk, and what a line says."""

from __future__ import annotations

import pytest

from lane.graph import ops as g
from lane.graph.graph import Head
from lane.graph.text import dump
from tests.py.support.fixtures import BY_NAME
from tests.py.support.goldens import check_golden
from tests.py.support.graphs import Step, matrix


@pytest.mark.parametrize("name", ["llama", "gemma3", "gpt_oss", "deepseek_v3", "qwen3_5_moe", "lfm2"])
@pytest.mark.parametrize(("form", "rows", "head"), [("decode", 1, Head.LAST), ("chunk", 16, Head.LAST)])
def test_golden(name: str, form: str, rows: int, head: Head) -> None:
    check_golden(f"graph/{name}.{form}.txt", dump(BY_NAME[name].model(context=64).step(rows, head)))


def test_lines() -> None:
    s = Step(rows=2)
    table = s.tensor(matrix("table", 20, 32))
    x = s.add(g.Gather(table, s.tokens, "x", 2, 0.5))
    text = dump(s.close(s.add(g.MatMul(x, table, "logits")), Head.ALL))
    assert text.splitlines() == [
        "step rows=2 head=all logits=logits",
        "  token param i32 1x1",
        "  pos param i32 1x1",
        "  tokens param i32 1x512",
        "  table constant Q8_0 f32 20x32",
        "  x = gather table=table index=tokens rows=2 scale=0.5  -> 2x32",
        "  logits = matmul x=x w=table  -> 2x20",
        "  token, pos = argmax logits=logits token=token pos=pos advance=2  -> 1x1",
    ]
