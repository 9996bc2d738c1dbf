"""The reference device, and the CPU held to it launch by launch.

Each launch of the CPU runs on the very inputs that the launch's definition runs on. Under `precise` both round one
float64 result to f32 once: a value differs where it lies at the edge of two, by one unit in the last place, 2^-23
relative to the largest value near it; 4·2^-23 of an array's largest leaves room for transcendental functions, which are
not rounded exactly. Under the int8 numerics a projection sums k/32 blocks in f32, each product rounded to 2^-24 of what
has been summed: (k/32)·2^-24 of Σ|terms|, itself below √k times the largest result of random weights; k is at most 512
here, 16·23·2^-24 < 3e-5. Quantised words and scales are the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lane.devices.device import DeviceError
from lane.graph.graph import Head
from lane.launch.fields import Mode, Storage
from lane.launch.quantised import Component, components
from lane.launch.record import Numerics
from lane.plan.plan import DECODE, FormKey
from lane.session import Session
from tests.py.devices.runs import across, engine, in_chunks, session
from tests.py.support.bars import misses
from tests.py.support.fixtures import BY_NAME, relative_rms

EACH_NUMERICS = pytest.mark.parametrize("numerics", Numerics, ids=lambda n: n.value)
BARS = {Numerics.PRECISE: 4 * 2.0**-23, Numerics.INT8: 3e-5, Numerics.INT8X2: 3e-5}


@pytest.mark.parametrize("name", ["llama_odd", "gemma3", "starcoder2"])
def test_logits_are_the_reference_s(name: str) -> None:
    fixture = BY_NAME[name]
    run, wanted = session(fixture, Numerics.PRECISE, device="reference"), fixture.reference
    found = in_chunks(run, wanted.tokens)
    assert not misses(Numerics.PRECISE, found, wanted)
    assert relative_rms(across(run, wanted.tokens, 60), found[59:]) < 1e-6


def test_decode_feeds_itself() -> None:
    run, tokens = session(BY_NAME["llama"], Numerics.PRECISE, device="reference"), BY_NAME["llama"].reference.tokens
    run.begin()
    run.prefill(tokens[:20])
    first = run.device.token()
    assert (run.device.position(), first) == (20, int(run.logits().argmax()))
    run.device.decode(2)
    assert run.device.position() == 22
    again = session(BY_NAME["llama"], Numerics.PRECISE, device="reference")
    again.begin()
    again.prefill(tokens[:20])
    again.step(first)
    again.step(again.device.token())
    assert again.device.token() == run.device.token()


def _compare(numerics: Numerics, cpu: Session, reference: Session, key: FormKey) -> int:
    """Runs a form launch by launch on either device, the CPU on the reference's inputs; gives how many launches."""
    form = cpu.engine.plan.form(key)
    launches = list(form.schedule.executed())
    for number, item in enumerate(launches):
        accesses = list(item.launch.accesses())
        for access in accesses:
            buffer = form.schedule.buffers[access.name]
            if (
                access.storage is Storage.PLAIN
                and access.mode is Mode.READ
                and buffer.fill.value in ("computed", "alias")
            ):
                cpu.device.write(key, access.name, reference.device.read(key, access.name))
        cpu.device.run_launches(key, number, number + 1)
        reference.device.run_launches(key, number, number + 1)
        for access in accesses:
            if access.mode is Mode.READ:
                continue
            if access.storage is Storage.QUANT:
                for component in components(Storage.QUANT, numerics):
                    found, wanted = (d.device.read(key, access.name, component) for d in (cpu, reference))
                    np.testing.assert_array_equal(found, wanted, f"{number} {item.launch}")
                continue
            found, wanted = (d.device.read(key, access.name).astype(np.float64) for d in (cpu, reference))
            bound = BARS[numerics] * max(1.0, float(np.abs(wanted).max()))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=bound, err_msg=f"{number} {item.launch}")
    return len(launches)


@EACH_NUMERICS
@pytest.mark.parametrize("key", [DECODE, FormKey(8), FormKey(32, Head.ALL)], ids=str)
@pytest.mark.parametrize("name", ["llama", "gemma3", "starcoder2"])
def test_the_cpu_launch_by_launch(name: str, key: FormKey, numerics: Numerics) -> None:
    fixture = BY_NAME[name]
    runs = [Session(engine(fixture, numerics, device=device)) for device in ("cpu", "reference")]
    tokens: Sequence[int] = fixture.reference.tokens[: key.rows]
    for run in runs:
        run.engine.require([key])
        run.begin()
        run.device.set_inputs(tokens, 0)
    assert _compare(numerics, runs[0], runs[1], key) > 40


def test_what_has_no_such_array_is_refused() -> None:
    for device in ("cpu", "reference"):
        run = session(BY_NAME["llama"], Numerics.INT8, device=device)
        with pytest.raises(DeviceError, match="'embed' has no array 'matrix'"):
            run.device.read(DECODE, "embed", Component.MATRIX)
        with pytest.raises(DeviceError, match="allowed"):
            run.device.write(DECODE, "embed", np.zeros(3, np.int8), Component.WORDS)
