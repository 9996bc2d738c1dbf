"""Cases for the tokenizer: vocabularies small enough to read, with what llama.cpp makes of them.

The small vocabularies under tests/data/tokenizer are cut from those of real models; ids, pieces and stops are
llama.cpp's. `pieces.json` holds the lengths in characters of the pieces that each pre-tokenizer cuts a text into.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lane.checkpoint.tokenizer import Tokenizer

DATA = Path(__file__).parents[2] / "data"
SMALL = ("spm", "spm_no_prefix", "spm_phi3", "gemma4", "gpt2", "gpt2_whole")

# What a text is encoded with, as the stored cases name it.
FLAGS = {
    f"add{int(add)}_parse{int(parse)}": {"add_special": add, "parse_special": parse}
    for add in (False, True)
    for parse in (False, True)
}


@cache
def load(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def small(name: str) -> tuple[Tokenizer, Any]:
    """A small vocabulary's tokenizer, and what is stored of it."""
    stored = load(f"tokenizer/{name}.json")
    return Tokenizer.from_metadata(stored["metadata"]), stored


def mismatches(tokenizer: Tokenizer, cases: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each case and combination of flags whose ids are not the stored ones."""
    for case in cases:
        for name, flags in FLAGS.items():
            ids = tokenizer.encode(case["text"], **flags)
            if ids != case[name]:
                yield f"{case['text']!r} {name}: {ids}, stored {case[name]}"
