"""The shape of a decoder: what every file says about its layers, widths and heads; some of it differs by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lane.models.hparams import Hparams
from lane.models.part import Dim, Part

MAX_LAYERS = 4096
MAX_POSITIONS = 1 << 31
MAX_HEAD = 2048  # values a head: four times the widest known, and tables of angles are this wide


@dataclass(frozen=True, slots=True)
class LayerShape:
    """Heads, their widths, and the norms' epsilon of one layer."""

    heads: int
    kv_heads: int
    hd: int
    vd: int
    eps: float

    @property
    def q(self) -> int:
        """Width of a row of queries."""
        return self.heads * self.hd

    @property
    def k(self) -> int:
        """Width of a row of keys."""
        return self.kv_heads * self.hd

    @property
    def v(self) -> int:
        """Width of a row of values."""
        return self.kv_heads * self.vd

    @property
    def o(self) -> int:
        """Width of a row of what the heads give."""
        return self.heads * self.vd


@dataclass(frozen=True)
class DenseShape(Part):
    """Layers, the model's own context, widths, heads, rotated values a head, the norms' epsilon, the vocabulary.

    `ff`, `heads` and `kv_heads` are of each layer. `unused_layers` more layers lie in the file after those that a step
    runs (they predict further tokens).
    """

    layers: int
    context: int
    embd: int
    ff: tuple[int, ...]
    heads: tuple[int, ...]
    kv_heads: tuple[int, ...]
    hd: int
    vd: int
    rotated: int
    eps: float
    vocab: int
    unused_layers: int = 0

    def at(self, layer: int) -> LayerShape:
        """One layer's shape."""
        return LayerShape(self.heads[layer], self.kv_heads[layer], self.hd, self.vd, self.eps)

    def dims(self) -> Mapping[str, Dim]:
        """Dimensions by the names that tensor tables use."""
        each = [self.at(i) for i in range(self.layers)]
        return {
            "vocab": self.vocab,
            "embd": self.embd,
            "ff": self.ff,
            "gate_up": tuple(2 * ff for ff in self.ff),
            "heads": self.heads,
            "q": tuple(s.q for s in each),
            "q_and_gate": tuple(2 * s.q for s in each),
            "k": tuple(s.k for s in each),
            "v": tuple(s.v for s in each),
            "qkv": tuple(s.q + s.k + s.v for s in each),
            "o": tuple(s.o for s in each),
            "hd": self.hd,
            "half": self.rotated // 2,
        }

    def kinds(self) -> Mapping[str, tuple[int, ...]]:
        """What every layer has unless another part says that some have something else."""
        every = tuple(range(self.layers))
        return {"attention": every, "dense": every, "experts": (), "shared": ()}


def read_shape(
    hparams: Hparams,
    eps_key: str = "attention.layer_norm_rms_epsilon",
    *,
    fewest_kv_heads: int = 1,
    fewest_ff: int = 1,
) -> DenseShape:
    """Reads and cross-checks the common keys.

    `fewest_kv_heads` is 0 where layers without attention say so by it, `fewest_ff` where the feed-forward length may be
    of no layer and then need not be there.
    """
    blocks = hparams.count("block_count", high=MAX_LAYERS)
    unused = hparams.count("nextn_predict_layers", 0, low=0)
    hparams.require(unused < blocks, f"nextn_predict_layers is {unused}, allowed fewer than block_count, {blocks}")
    embd = hparams.count("embedding_length")
    heads = hparams.per_layer("attention.head_count", blocks)
    kv_heads = hparams.per_layer("attention.head_count_kv", blocks, heads, low=fewest_kv_heads)
    for of, groups in zip(heads, kv_heads, strict=True):
        hparams.require(
            groups == 0 or of % groups == 0,
            f"attention.head_count is {of}, allowed a multiple of attention.head_count_kv, {groups}",
        )
    if not (hparams.has("attention.key_length") and hparams.has("attention.value_length")):
        hparams.require(
            embd % heads[0] == 0, f"embedding_length is {embd}, allowed a multiple of attention.head_count, {heads[0]}"
        )
    hd = hparams.count("attention.key_length", embd // heads[0], high=MAX_HEAD)
    vd = hparams.count("attention.value_length", embd // heads[0], high=MAX_HEAD)
    rotated = hparams.count("rope.dimension_count", hd)
    hparams.require(
        rotated <= hd and rotated % 2 == 0, f"rope.dimension_count is {rotated}, allowed an even number up to {hd}"
    )
    layers = blocks - unused
    no_ff = (0,) * blocks if fewest_ff == 0 else None
    return DenseShape(
        layers=layers,
        context=hparams.count("context_length", high=MAX_POSITIONS),
        embd=embd,
        ff=hparams.per_layer("feed_forward_length", blocks, no_ff, low=fewest_ff)[:layers],
        heads=heads[:layers],
        kv_heads=kv_heads[:layers],
        hd=hd,
        vd=vd,
        rotated=rotated,
        eps=hparams.number(eps_key, low=0.0, high=1.0),
        vocab=hparams.vocab,
        unused_layers=unused,
    )
