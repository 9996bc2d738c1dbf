"""`lane.load` on the CPU: arguments, logits that agree with generation, models that do not meet, continued state."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

import lane
import lane.api
from bench.make_checkpoint import SIZES, make
from lane.errors import CapacityError, UnsupportedError, UsageError

TINY = SIZES["tiny"]
TOKENS = [5, 100, 37, 9, 9, 250, 3, 77, 41, 6, 12]
NUMERICS = ["precise", "int8", "int8x2"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "tiny.gguf"
    make(path, "llama", TINY, ("Q4_K", "Q8_0"), template="{% for m in messages %}{{ m.content }}{% endfor %}")
    return path


def test_documented_examples_hold(path: Path) -> None:
    result = doctest.testmod(lane.api, extraglobs={"path": path})
    assert result.attempted >= 6
    assert result.failed == 0


def test_names_of_the_package() -> None:
    assert lane.load is lane.api.load
    assert lane.Model is lane.api.Model
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = lane.nonsense


@pytest.mark.parametrize("numerics", NUMERICS)
def test_logits_do_not_depend_on_chunks(path: Path, numerics: str) -> None:
    """A row is summed alike however many rows a step has: bit for bit."""
    model = lane.load(path, numerics=numerics, ctx=64)
    whole = model.logits(TOKENS)
    assert np.isfinite(whole).all()
    for chunk in (1, 2, 4):
        assert np.array_equal(model.logits(TOKENS, chunk=chunk), whole)


@pytest.mark.parametrize("numerics", NUMERICS)
def test_greedy_is_the_arg_max_of_logits(path: Path, numerics: str) -> None:
    model = lane.load(path, numerics=numerics, ctx=64)
    pieces = list(model.generate(TOKENS, 6))
    ids = [piece.id for piece in pieces]
    logits = model.logits([*TOKENS, *ids[:-1]])[len(TOKENS) - 1 :]
    assert logits.argmax(axis=1).tolist() == ids
    for piece, row in zip(pieces, logits.astype(np.float64), strict=True):
        share = np.exp(row - row.max())
        # As tests/py/api/test_sampling.py derives, for logits within 30 of the best.
        assert piece.logprob == pytest.approx(np.log(share[piece.id] / share.sum()), abs=62 * 2**-23)


def test_continuing_gives_what_starting_anew_does(path: Path) -> None:
    model = lane.load(path, ctx=128)
    ids = [piece.id for piece in model.generate(TOKENS, 6)]
    longer = [*TOKENS, *ids, 8, 9, 10]
    continued = [(piece.id, piece.logprob) for piece in model.generate(longer, 6)]
    assert model.timings.prefill_tokens == 4  # the last of the ids, which was not fed, and three more
    anew = [(piece.id, piece.logprob) for piece in lane.load(path, ctx=128).generate(longer, 6)]
    assert continued == anew


def test_a_second_run_is_the_first(path: Path) -> None:
    model = lane.load(path, ctx=64)
    first = [(piece.id, piece.logprob) for piece in model.generate(TOKENS, 6)]
    model.logits([1, 2, 3])
    assert [(piece.id, piece.logprob) for piece in model.generate(TOKENS, 6)] == first


def test_threads_do_not_change_results(path: Path) -> None:
    one, two = (lane.load(path, ctx=64, threads=threads).logits(TOKENS) for threads in (1, 2))
    assert np.array_equal(one, two)


def test_two_models_take_turns(path: Path) -> None:
    alone = [piece.id for piece in lane.load(path, ctx=64).generate(TOKENS, 6)]
    one, other = lane.load(path, ctx=64), lane.load(path, ctx=64, numerics="precise")
    first, second = one.generate(TOKENS, 6), other.generate(TOKENS[::-1], 6)
    turns = [(a.id, b.id) for a, b in zip(first, second, strict=True)]
    assert [a for a, _ in turns] == alone


def test_chat(path: Path) -> None:
    model = lane.load(path, ctx=64)
    said = [{"role": "user", "content": "abc"}]
    assert model.chat_tokens(said) == model.tokenizer.encode("abc")
    assert [p.id for p in model.chat(said, 4)] == [p.id for p in model.generate("abc", 4)]


def test_context_defaults_to_the_model_s_own(path: Path) -> None:
    assert lane.load(path).context == TINY.context


def test_plan_and_memory(path: Path) -> None:
    model = lane.load(path, ctx=64)
    assert model.plan().rows == 1
    assert model.plan(8).rows == 8
    list(model.generate(TOKENS, 1))
    parts = model.memory()
    assert parts["checkpoint"] == path.stat().st_size
    width = TINY.embd // TINY.heads * TINY.kv_heads
    assert parts["caches"] == TINY.layers * 2 * 64 * width * 4
    assert parts["arena"] >= model.lane.form(8).arena.total_bytes > 0


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"device": "abacus"}, UsageError, "device 'abacus', allowed cpu"),
        ({"numerics": "int4"}, UsageError, "numerics 'int4', allowed precise, int8, int8x2"),
        ({"threads": 0}, UsageError, "0 threads, allowed 1 to 1024"),
        ({"threads": 1025}, UsageError, "1025 threads"),
        ({"ctx": 0}, UnsupportedError, "a context of 0 positions"),
        ({"ctx": -1}, UnsupportedError, "a context of -1 positions"),
    ],
)
def test_refused_arguments(path: Path, options: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        lane.load(path, **options)  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("tokens", "chunk", "error"),
    [([], None, UsageError), ([TINY.vocab], None, UsageError), ([1] * 65, None, CapacityError), ([1], 0, UsageError)],
)
def test_refused_logits(path: Path, tokens: list[int], chunk: int | None, error: type[Exception]) -> None:
    with pytest.raises(error):
        lane.load(path, ctx=64).logits(tokens, chunk)
