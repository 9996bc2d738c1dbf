"""`lane inspect`: every file that opens is described, and what is refused is said."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from bench.make_checkpoint import CONTROLS, SIZES, make
from lane.report.inspect import inspect
from tests.py.cli.checkpoints import REFUSED, VOCAB, changed, replaced, retyped, without
from tests.py.cli.conftest import Lane

REFUSED_AND_OPEN = [
    "unknown_architecture",
    "unsupported_type",
    "missing_tensor",
    "unread_key",
    "unknown_tokenizer",
]


def test_good(lane: Lane, model: Path) -> None:
    found = json.loads(lane("inspect", model, "--json").out)
    size = SIZES["tiny"]
    assert found["architecture"] == "llama"
    assert found["bytes"] == model.stat().st_size
    assert found["shape"]["layers"] == size.layers
    assert found["shape"]["context"] == size.context
    stops = [CONTROLS.index("<|endoftext|>"), CONTROLS.index("</s>")]
    assert found["tokenizer"] == {"kind": "gpt2", "pre": "gpt-2", "tokens": VOCAB, "bos": 0, "eos": 0, "stops": stops}
    assert {use["format"]: use["tensors"] for use in found["formats"]} == {
        "Q8_0": 7 * size.layers + 2,
        "F32": 2 * size.layers + 1,
    }
    assert sum(use["values"] for use in found["formats"]) == found["parameters"]
    assert found["metadata"]["llama.block_count"] == size.layers
    assert found["metadata"]["tokenizer.ggml.tokens"] == f"string[{VOCAB}]"
    assert found["taken"]["llama.rope.scaling.factor"] == 1.0
    assert not found["taken"].keys() & found["metadata"].keys()
    assert not any(verdict["reason"] for verdict in found["verdicts"])


def test_text(lane: Lane, model: Path) -> None:
    outcome = lane("inspect", model)
    assert outcome.code == 0
    for wanted in ("architecture", "llama", "Q8_0", "F32", "gpt2 (gpt-2)", "llama.block_count", "cpu int8"):
        assert wanted in outcome.out
    assert "refused" not in outcome.out


@pytest.mark.parametrize("name", REFUSED_AND_OPEN)
def test_refused_files_are_described(lane: Lane, folder: Path, name: str) -> None:
    change, _, said = REFUSED[name]
    path = changed(folder, f"inspect_{name}", change)
    outcome = lane("inspect", path)
    assert outcome.code == 0
    refusals = [line for line in outcome.out.splitlines() if "refused: " in line]
    assert refusals and all(any(text in line for line in refusals) for text in said)
    reasons = [verdict.reason for verdict in inspect(path).verdicts if not verdict.runs]
    assert all(any(text in reason for reason in reasons) for text in said)


@pytest.mark.parametrize("name", sorted(REFUSED.keys() - set(REFUSED_AND_OPEN)))
def test_malformed_files_are_errors(lane: Lane, folder: Path, name: str) -> None:
    change, code, said = REFUSED[name]
    outcome = lane("inspect", changed(folder, name, change))
    assert (outcome.code, outcome.out) == (code, "")
    assert all(text in outcome.error() for text in said)


def test_a_type_that_was_removed(lane: Lane, folder: Path) -> None:
    """It is described, and what to do is said: the ids of types that GGUF had once are known."""
    path = changed(folder, "removed_type", retyped(b"blk.1.ffn_up.weight", 31))
    outcome = lane("inspect", path)
    assert outcome.code == 0
    assert re.search(r"Q4_0_4_4 +1 tensors.*refused: quant: format 'Q4_0_4_4': GGUF has it no longer", outcome.out)
    assert "allowed Q4_0 in its place: fetch the model, or quantise it anew" in lane("run", path, "-p", "a").error()


def test_what_the_file_leaves_open(lane: Lane, folder: Path) -> None:
    path = changed(folder, "no_eos", replaced(b"tokenizer.ggml.eos_token_id", b"tokenizer.ggml.xxx_token_id"))
    said = "tokenizer: tokenizer.ggml.eos_token_id is missing: a text ends at '<|endoftext|>' (0), '</s>' (3)"
    assert f"warnings\n  {said}\n" in lane("inspect", path).out
    assert json.loads(lane("inspect", path, "--json").out)["warnings"] == [said]
    outcome = lane("run", path, "-p", "a", "-n", "1")
    assert outcome.err.startswith(f"lane: warning: {said}\nlane: load ")


def test_what_is_taken_for_a_missing_key(lane: Lane, folder: Path) -> None:
    path = changed(folder, "no_base", without(b"llama.rope.freq_base", 4 + 4))
    said = r"taken where the file says nothing\n(  .*\n)*  llama\.rope\.freq_base +10000\.0\n"
    assert re.search(said, lane("inspect", path).out)


def test_a_template_is_not_rendered(lane: Lane, folder: Path) -> None:
    """One that refuses some conversation runs all the same."""
    path = folder / "refusing.gguf"
    make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"), template="{{ raise_exception('tools alone') }}")
    assert re.search(r"\n  chat template +yes\n", lane("inspect", path).out)


def test_control_characters_do_not_reach_the_terminal(lane: Lane, folder: Path) -> None:
    path = changed(folder, "hostile_name", replaced(b"random llama", b"ran\x1b[31m\nlla"))
    outcome = lane("inspect", path)
    assert outcome.code == 0
    assert "\x1b" not in outcome.out and r"ran\x1b[31m\nlla" in outcome.out


def test_numbers_that_json_lacks(lane: Lane, folder: Path) -> None:
    import struct

    key = b"llama.rope.freq_base"
    nan = changed(
        folder,
        "nan",
        replaced(key + struct.pack("<If", 6, 10000.0), key + struct.pack("<If", 6, float("nan"))),
    )
    outcome = lane("inspect", nan, "--json")
    assert json.loads(outcome.out)["metadata"]["llama.rope.freq_base"] == "nan"


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_path_that_is_no_text(process: Lane, model: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    path = os.fsencode(tmp_path) + b"/bad\xff.gguf"
    os.link(model, path)
    out = process("inspect", os.fsdecode(path), *flags).out
    if not flags:
        assert r"bad\udcff.gguf" in out
    else:
        assert json.loads(out)["path"] == os.fsdecode(tmp_path) + r"/bad\xff.gguf"
