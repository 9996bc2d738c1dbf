"""The CPU device's logits on every checkpoint of tests/data: near the reference, and the same however they are fed.

Every launch sums a row as it would sum it alone, so a prefill in chunks of any size, decode one by one, one thread or
two, and a second run all give the same bits, under every numerics.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.launch.record import Numerics
from lane.session import Session
from tests.py.devices.runs import across, engine, in_chunks, session
from tests.py.support.bars import misses
from tests.py.support.fixtures import BY_NAME, F64, FAMILIES, FIXTURES, Fixture

EACH_NUMERICS = pytest.mark.parametrize("numerics", Numerics, ids=lambda n: n.value)
EACH_FIXTURE = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)


@EACH_NUMERICS
@EACH_FIXTURE
def test_short(fixture: Fixture, numerics: Numerics) -> None:
    cpu, wanted = session(fixture, numerics), fixture.reference
    chunks = in_chunks(cpu, wanted.tokens)
    assert not misses(numerics, chunks, wanted)
    np.testing.assert_array_equal(in_chunks(cpu, wanted.tokens, 1), chunks)
    prefilled = len(wanted.tokens) - 13
    np.testing.assert_array_equal(across(cpu, wanted.tokens, prefilled), chunks[prefilled - 1 :])


@EACH_NUMERICS
@pytest.mark.parametrize("fixture", [f for f in FAMILIES if f.has_long], ids=lambda f: f.name)
def test_long(fixture: Fixture, numerics: Numerics) -> None:
    """700 tokens: past a chunk of 512, past windows and past YaRN's original context."""
    wanted = fixture.long
    cpu = session(fixture, numerics, context=len(wanted.tokens))
    chunks = in_chunks(cpu, wanted.tokens)
    assert not misses(numerics, chunks[wanted.positions], wanted)
    np.testing.assert_array_equal(across(cpu, wanted.tokens, 505), chunks[504:])


@EACH_NUMERICS
@pytest.mark.parametrize("largest", [2, 4, 8, 16, 32, 64, 512])
@pytest.mark.parametrize("name", ["llama_odd", "gemma3", "starcoder2", "Q4_K_M"])
def test_chunks_of_any_size_give_the_same_bits(name: str, largest: int, numerics: Numerics) -> None:
    cpu, tokens = session(BY_NAME[name], numerics), BY_NAME[name].reference.tokens
    np.testing.assert_array_equal(in_chunks(cpu, tokens, largest), in_chunks(cpu, tokens, 1))


@EACH_NUMERICS
@pytest.mark.parametrize("name", ["llama", "llama_odd", "gemma3", "phi3", "F16", "Q6_K"])
def test_threads_and_runs_give_the_same_bits(name: str, numerics: Numerics) -> None:
    fixture = BY_NAME[name]
    tokens = fixture.reference.tokens
    first = session(fixture, numerics, threads=1)
    wanted = in_chunks(first, tokens)
    np.testing.assert_array_equal(in_chunks(first, tokens), wanted)
    for threads in (2, 3):
        np.testing.assert_array_equal(in_chunks(session(fixture, numerics, threads=threads), tokens), wanted)


def test_the_context_changes_no_bit() -> None:
    fixture, tokens = BY_NAME["gemma3"], BY_NAME["gemma3"].reference.tokens
    wanted = in_chunks(session(fixture, Numerics.INT8, context=96), tokens)
    np.testing.assert_array_equal(in_chunks(session(fixture, Numerics.INT8, context=1000), tokens), wanted)


def test_decode_feeds_itself() -> None:
    """Eight steps in one run choose what eight runs choose, and leave token and position there."""
    cpu, tokens = session(BY_NAME["llama"], Numerics.INT8), BY_NAME["llama"].reference.tokens[:20]
    cpu.begin()
    cpu.prefill(tokens)
    chosen = [cpu.device.token()]
    for _ in range(8):
        cpu.device.decode(1)
        chosen.append(cpu.device.token())
        assert cpu.device.token() == int(cpu.logits().argmax())
    assert cpu.device.position() == 28
    cpu.device.reset()
    cpu.device.prefill(tokens, 0, 512)
    cpu.device.decode(8)
    assert (cpu.device.token(), cpu.device.position()) == (chosen[8], 28)


def test_sequences_beside_one_another_do_not_meet() -> None:
    """Three sequences on one engine, step by step in turns: each has the bits of it alone."""
    fixture = BY_NAME["gemma3"]
    shared, tokens = engine(fixture, Numerics.INT8), fixture.reference.tokens
    prompts = [tokens[:33], tokens[5:20], tokens[40:64]]
    alone = [across(session(fixture, Numerics.INT8), prompt, len(prompt) - 8) for prompt in prompts]
    runs = [Session(shared) for _ in prompts]
    found: list[list[F64]] = [[] for _ in prompts]
    for run, prompt, rows in zip(runs, prompts, found, strict=True):
        run.begin()
        run.prefill(prompt[:-8])
        rows.append(np.array(run.logits(), np.float64))
    for step in range(8):
        for run, prompt, rows in zip(runs, prompts, found, strict=True):
            run.step(prompt[len(prompt) - 8 + step])
            rows.append(np.array(run.logits(), np.float64))
    for rows, wanted in zip(found, alone, strict=True):
        np.testing.assert_array_equal(np.stack(rows), wanted)


@EACH_NUMERICS
@pytest.mark.parametrize("name", ["llama", "gemma3", "phi3"])
def test_a_sequence_taken_up_where_it_differs_has_the_bits_of_a_fresh_one(name: str, numerics: Numerics) -> None:
    fixture = BY_NAME[name]
    tokens, run = fixture.reference.tokens, session(fixture, numerics)
    run.begin()
    run.prefill(tokens[:60])
    for changed in (41, 12, 0):
        other = [*tokens[:changed], *tokens[changed + 1 : 64]]
        assert run.begin(other) == changed
        run.prefill(other[changed:])
        fresh = session(fixture, numerics)
        fresh.begin()
        fresh.prefill(other)
        np.testing.assert_array_equal(run.logits(), fresh.logits())
        assert run.held == other


def test_two_models_in_a_process_do_not_meet() -> None:
    llama, gemma = session(BY_NAME["llama"], Numerics.INT8), session(BY_NAME["gemma3"], Numerics.PRECISE)
    tokens = BY_NAME["llama"].reference.tokens[:24]
    alone = in_chunks(llama, tokens[:16])
    other = in_chunks(gemma, tokens)
    np.testing.assert_array_equal(in_chunks(llama, tokens)[:16], alone)
    np.testing.assert_array_equal(in_chunks(gemma, tokens), other)
