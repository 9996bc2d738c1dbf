"""`lane.load` on the CPU: arguments, logits that agree with generation, models that do not meet, continued state."""

from __future__ import annotations

import dataclasses
import doctest
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import lane
import lane.api
from bench.make_checkpoint import SIZES, make
from lane.errors import CapacityError, UsageError
from lane.launch.record import F32
from lane.limits import MemoryLimit
from lane.models.rotation import Rotation
from lane.plan.plan import FormKey
from lane.report.fit import fit

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
    assert set(lane.__all__) <= set(dir(lane))
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
    assert parts["arena"] >= model.engine.plan.form(FormKey(8)).arena.total_bytes > 0


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"device": "abacus"}, UsageError, "device is 'abacus', allowed cpu, reference"),
        ({"numerics": "int4"}, UsageError, "numerics is 'int4', allowed precise, int8, int8x2"),
        ({"threads": 0}, UsageError, "threads is 0, allowed a whole number, 1 to 1024"),
        ({"threads": 1025}, UsageError, "threads is 1025"),
        ({"ctx": 0}, UsageError, "ctx is 0"),
        ({"ctx": -1}, UsageError, "ctx is -1"),
        ({"ctx": True}, UsageError, "ctx is True"),
        ({"ctx": 1.5}, UsageError, "ctx is 1.5"),
        ({"ctx": 10**8}, CapacityError, "a context of 100000000 positions"),
        ({"threads": True}, UsageError, "threads is True"),
        ({"device": None}, UsageError, "device is None"),
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


@pytest.mark.parametrize("bad", ["", "a\0b", b"a.gguf", 5, None])
def test_refused_paths(bad: object) -> None:
    with pytest.raises(UsageError, match=r"load: path is .*, allowed the path of a file"):
        lane.load(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "error"), [(0, UsageError), (-1, UsageError), (513, UsageError), (1.5, UsageError), (65, CapacityError)]
)
def test_refused_plans(path: Path, rows: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        lane.load(path, ctx=64).plan(rows)


@pytest.mark.parametrize(
    "messages", ["hi", [], [{}], {"role": "user"}, [{"role": 5}], [{"role": "user", "content": 5}], None]
)
def test_refused_conversations(path: Path, messages: object) -> None:
    with pytest.raises(UsageError, match=r"chat: .*, allowed "):
        lane.load(path, ctx=64).chat(messages)  # type: ignore[arg-type]


def test_a_conversation_that_cannot_fit_is_not_read(path: Path) -> None:
    model = lane.load(path, ctx=64)
    with pytest.raises(CapacityError, match="chat template: gives 1000000 characters, allowed are"):
        model.chat([{"role": "user", "content": "a" * 10**6}])


def test_a_context_that_memory_cannot_hold_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    tables = Rotation.tables

    def counted(rotation: Rotation, context: int, divisors: F32 | None) -> tuple[F32, F32]:
        made.append(context)
        return tables(rotation, context, divisors)

    monkeypatch.setattr(Rotation, "tables", counted)
    monkeypatch.setattr("lane.limits.memory_limit", lambda: MemoryLimit(1 << 30, "a test's"))
    path = tmp_path / "long.gguf"
    make(path, "llama", dataclasses.replace(TINY, context=1 << 20), ("Q8_0", "Q8_0"))
    with pytest.raises(CapacityError, match=r"cpu: 1048576 positions take \d+ bytes, allowed 1073741824 \(a test's\)"):
        lane.load(path, ctx=1 << 20)
    assert made == []


def test_a_usual_context_that_memory_cannot_hold_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lane.limits.memory_limit", lambda: MemoryLimit(1 << 20, "a test's"))
    with pytest.raises(CapacityError, match=r"cpu: 512 positions take \d+ bytes, allowed 1048576 \(a test's\)"):
        lane.load(path)
    assert lane.load(path, ctx=8).context == 8


def test_a_step_that_memory_cannot_hold_beside_the_pool_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `fit` counts, to the byte: a pool, and the arena of the widest step."""
    model = lane.load(path, ctx=64)
    list(model.generate(TOKENS[:2], 2))
    held = sum(size for part, size in model.memory().items() if part != "checkpoint")
    needed = fit(path, context=64, forms=(1, 2)).choices[0].device_bytes
    assert needed == held
    for most in (needed, needed - 1):
        monkeypatch.setattr("lane.limits.memory_limit", lambda most=most: MemoryLimit(most, "a test's"))
        again = lane.load(path, ctx=64)
        if most == needed:
            list(again.generate(TOKENS[:2], 2))
        else:
            with pytest.raises(CapacityError, match=f"cpu: 64 positions take {needed} bytes, allowed {most}"):
                list(again.generate(TOKENS[:2], 2))


def test_a_file_whose_name_goes_away_stays_open(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """During a run, by a relative path, after a change of directory."""
    wanted = [piece.id for piece in lane.load(path, ctx=64).generate(TOKENS, 6)]
    shutil.copy(path, tmp_path / "m.gguf")
    monkeypatch.chdir(tmp_path)
    model = lane.load("m.gguf", ctx=64)
    pieces = model.generate(TOKENS, 6)
    found = [next(pieces).id]
    os.remove("m.gguf")
    monkeypatch.chdir("/")
    assert found + [piece.id for piece in pieces] == wanted
    assert model.memory()["checkpoint"] == path.stat().st_size


def test_errors_are_exported() -> None:
    for error in (lane.LaneError, lane.UsageError, lane.CheckpointError, lane.UnsupportedError, lane.CapacityError):
        assert issubclass(error, lane.LaneError) and error.__name__ in lane.__all__ and error.__name__ in dir(lane)


def test_threads_take_turns(path: Path) -> None:
    model = lane.load(path, ctx=64, threads=1)
    prompts = [TOKENS, TOKENS[:3]]
    wanted = [model.logits(prompt) for prompt in prompts]
    equal: list[bool] = []

    def ask(which: int) -> None:
        for _ in range(20):
            equal.append(np.array_equal(model.logits(prompts[which]), wanted[which]))

    threads = [threading.Thread(target=ask, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert equal == [True] * 40
