"""Arena problems of large models, from their shapes alone: one prefill chunk of 512 rows, launch by launch.

Enters: the shapes below. Leaves: problems as the planner takes them. A `Tape` records launches as (what is read, what
is written); an array's life is from its first writer to its last reader. Projections under the int8 numerics read
quantised activations, so each of their inputs has words and scales beside its plain values; tiled and
grouped kernels have scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lane import _core

ALIGNMENT_BYTES = 256  # of a device allocation's parts: what a vector load and a copy engine like
ROWS = 512


class Tape:
    """Launches in program order and the arrays they touch."""

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self.launches = 0

    def launch(self, out: str, elems: int, *read: str, elem_bytes: int = 4) -> str:
        """One launch that reads arrays and writes a new one of `elems` values; gives its name."""
        return self.launch_many({out: elems * elem_bytes}, *read)[0]

    def launch_many(self, written: Mapping[str, int], *read: str) -> list[str]:
        """One launch that writes several new arrays, given with their bytes."""
        for name, size_bytes in written.items():
            self._bytes[name] = size_bytes
            self._first[name] = self.launches
        for name in (*read, *written):
            self._last[name] = self.launches
        self.launches += 1
        return list(written)

    def touch(self, *read: str) -> None:
        """One launch that writes no array of the arena: caches and carried memories are not the step's."""
        self.launch_many({}, *read)

    def quantise(self, x: str) -> tuple[str, ...]:
        """The quantised form of an array of f32: words, a scale per 32 values."""
        elems = self._bytes[x] // 4
        return tuple(self.launch_many({f"{x} words": elems, f"{x} scales": elems // 8}, x))

    def problem(self) -> _core.ArenaProblem:
        """The arena problem on one stream."""
        problem = _core.ArenaProblem(ALIGNMENT_BYTES)
        for name, size_bytes in self._bytes.items():
            problem.add(name, size_bytes, [(self._first[name], self._last[name] + 1)])
        return problem


@dataclass(frozen=True)
class Shape:
    """A model's dimensions; those a family does not have are 0."""

    layers: int
    d: int
    heads: int
    kv_heads: int
    hd: int
    dff: int
    experts: int = 0
    chosen: int = 0
    shared_dff: int = 0
    dense_layers: int = 0  # leading layers without experts
    attention_every: int = 1  # the other layers are delta rules
    value_heads: int = 0  # of a delta rule
    key_heads: int = 0
    taps: int = 4
    q_rank: int = 0  # of latent attention
    kv_rank: int = 0
    rope_dims: int = 0
    rows: int = ROWS


def _attention(t: Tape, s: Shape, at: str, x: str) -> str:
    h = t.launch(f"{at}.norm", s.rows * s.d, x)
    hq = t.quantise(h)
    q = t.launch(f"{at}.q", s.rows * s.heads * s.hd, *hq)
    k = t.launch(f"{at}.k", s.rows * s.kv_heads * s.hd, *hq)
    v = t.launch(f"{at}.v", s.rows * s.kv_heads * s.hd, *hq)
    q = t.launch(f"{at}.q_norm", s.rows * s.heads * s.hd, q)
    k = t.launch(f"{at}.k_norm", s.rows * s.kv_heads * s.hd, k)
    q = t.launch(f"{at}.q_turned", s.rows * s.heads * s.hd, q)
    k = t.launch(f"{at}.k_turned", s.rows * s.kv_heads * s.hd, k)
    t.touch(k)
    t.touch(v)
    a = t.launch(f"{at}.attention", s.rows * s.heads * s.hd, q)
    return t.launch(f"{at}.o", s.rows * s.d, *t.quantise(a))


def _latent_attention(t: Tape, s: Shape, at: str, x: str, context: int = 4096) -> str:
    """The expanded form: keys and values of every cached row are expanded per head by the step."""
    h = t.launch(f"{at}.norm", s.rows * s.d, x)
    hq = t.quantise(h)
    low = t.launch(f"{at}.q_low", s.rows * s.q_rank, *hq)
    low = t.launch(f"{at}.q_low_norm", s.rows * s.q_rank, low)
    q = t.launch(f"{at}.q", s.rows * s.heads * (s.hd + s.rope_dims), *t.quantise(low))
    kv = t.launch(f"{at}.kv_low", s.rows * (s.kv_rank + s.rope_dims), *hq)
    t.touch(t.launch(f"{at}.kv_norm", s.rows * s.kv_rank, kv))
    t.touch(t.launch(f"{at}.k_turned", s.rows * s.rope_dims, kv))
    turned = t.launch(f"{at}.q_turned", s.rows * s.heads * s.rope_dims, q)
    keys = t.launch(f"{at}.keys", context * s.heads * s.hd)
    values = t.launch(f"{at}.values", context * s.heads * s.hd)
    a = t.launch(f"{at}.attention", s.rows * s.heads * s.hd, q, turned, keys, values)
    return t.launch(f"{at}.o", s.rows * s.d, *t.quantise(a))


def _delta(t: Tape, s: Shape, at: str, x: str) -> str:
    h = t.launch(f"{at}.norm", s.rows * s.d, x)
    hq = t.quantise(h)
    keys, values = s.rows * s.key_heads * s.hd, s.rows * s.value_heads * s.hd
    qkv = t.launch(f"{at}.qkv", 2 * keys + values, *hq)
    z = t.launch(f"{at}.z", values, *hq)
    beta, gate = t.launch_many({f"{at}.beta": s.rows * s.value_heads * 4, f"{at}.gate": s.rows * s.value_heads * 4}, h)
    mixed = t.launch(f"{at}.mixed", 2 * keys + values, qkv)
    t.touch(qkv)  # the ring's last taps
    q = t.launch(f"{at}.q_unit", keys, mixed)
    k = t.launch(f"{at}.k_unit", keys, mixed)
    prepared = t.launch(f"{at}.prepared", values + 2 * keys, q, k, mixed, beta, gate)
    read = t.launch(f"{at}.read", values, prepared, q, gate)
    o = t.launch(f"{at}.normed", values, read, z)
    return t.launch(f"{at}.o", s.rows * s.d, *t.quantise(o))


def _dense(t: Tape, s: Shape, at: str, x: str) -> str:
    h = t.launch(f"{at}.norm", s.rows * s.d, x)
    hq = t.quantise(h)
    gate = t.launch(f"{at}.gate", s.rows * s.dff, *hq)
    up = t.launch(f"{at}.up", s.rows * s.dff, *hq)
    a = t.launch(f"{at}.act", s.rows * s.dff, gate, up)
    return t.launch(f"{at}.down", s.rows * s.d, *t.quantise(a))


def _mixture(t: Tape, s: Shape, at: str, x: str) -> str:
    """Grouped by expert: rows are gathered once a choice, multiplied, and summed back by weight."""
    h = t.launch(f"{at}.norm", s.rows * s.d, x)
    picks = s.rows * s.chosen
    scores = t.launch(f"{at}.scores", s.rows * s.experts, h)
    chosen, weight = t.launch_many({f"{at}.chosen": picks * 4, f"{at}.weight": picks * 4}, scores)
    place, order = t.launch_many({f"{at}.place": (s.experts + 1) * 4, f"{at}.order": picks * 4}, chosen)
    hq = t.quantise(h)
    rows = t.launch_many({f"{at}.rows words": picks * s.d, f"{at}.rows scales": picks * s.d // 8}, order, *hq)
    gate = t.launch(f"{at}.gate", picks * s.dff, place, *rows)
    up = t.launch(f"{at}.up", picks * s.dff, place, *rows)
    a = t.launch(f"{at}.act", picks * s.dff, gate, up)
    down = t.launch(f"{at}.down", picks * s.d, place, *t.quantise(a))
    if not s.shared_dff:
        return t.launch(f"{at}.out", s.rows * s.d, down, weight, chosen, order)
    gate = t.launch(f"{at}.shared_gate", s.rows * s.shared_dff, *hq)
    up = t.launch(f"{at}.shared_up", s.rows * s.shared_dff, *hq)
    a = t.launch(f"{at}.shared_act", s.rows * s.shared_dff, gate, up)
    shared = t.launch(f"{at}.shared_down", s.rows * s.d, *t.quantise(a))
    return t.launch(f"{at}.out", s.rows * s.d, down, weight, chosen, order, shared)


def _mixer(s: Shape, layer: int) -> Callable[[Tape, Shape, str, str], str]:
    if s.kv_rank:
        return _latent_attention
    return _attention if (layer + 1) % s.attention_every == 0 else _delta


def tape(s: Shape) -> Tape:
    """The step of a model, its logits its caller's."""
    t = Tape()
    x = t.launch("embed", s.rows * s.d)
    for layer in range(s.layers):
        mixed = _mixer(s, layer)(t, s, f"blk.{layer}.mix", x)
        x = t.launch(f"blk.{layer}.sum", s.rows * s.d, x, mixed)
        ffn = _mixture if s.experts and layer >= s.dense_layers else _dense
        y = ffn(t, s, f"blk.{layer}.ffn", x)
        x = t.launch(f"blk.{layer}.out", s.rows * s.d, x, y)
    t.touch(*t.quantise(t.launch("norm", s.d, x)))
    return t


SHAPES: Mapping[str, Shape] = {
    "dense_70b": Shape(80, 8192, 64, 8, 128, 28672),
    "mixture_30b_a3b": Shape(48, 2048, 32, 4, 128, 768, experts=128, chosen=8),
    "hybrid_80b_a3b": Shape(48, 2048, 16, 2, 256, 512, 512, 10, 512, attention_every=4, value_heads=32, key_heads=16),
    "latent_236b": Shape(60, 5120, 128, 128, 128, 1536, 160, 6, 3072, 1, q_rank=1536, kv_rank=512, rope_dims=64),
}
