"""The keys that every dense decoder's file carries."""

from __future__ import annotations

from dataclasses import dataclass

from lane.models.hparams import Hparams

MAX_LAYERS = 4096


@dataclass(frozen=True, slots=True)
class DenseShape:
    """Layers, the model's own context, widths, heads, rotated values a head, and the norms' epsilon.

    The vocabulary is the embedding's row count, given by recognition.
    """

    layers: int
    context: int
    embd: int
    ff: int
    heads: int
    kv_heads: int
    hd: int
    vd: int
    rotated: int
    eps: float
    vocab: int

    def dims(self) -> dict[str, int]:
        """Dimensions by the names that tensor tables use."""
        return {
            "vocab": self.vocab,
            "embd": self.embd,
            "ff": self.ff,
            "q": self.heads * self.hd,
            "k": self.kv_heads * self.hd,
            "v": self.kv_heads * self.vd,
            "o": self.heads * self.vd,
            "hd": self.hd,
            "half": self.rotated // 2,
        }


def read_dense(hparams: Hparams, eps_key: str = "attention.layer_norm_rms_epsilon") -> DenseShape:
    """Reads and cross-checks the common keys."""
    layers = hparams.count("block_count", high=MAX_LAYERS)
    embd = hparams.count("embedding_length")
    heads = hparams.count("attention.head_count")
    kv_heads = hparams.count("attention.head_count_kv", heads)
    hparams.require(heads % kv_heads == 0, f"attention.head_count {heads}, allowed a multiple of {kv_heads}")
    if not hparams.has("attention.key_length"):
        hparams.require(
            embd % heads == 0, f"embedding_length {embd}, allowed a multiple of attention.head_count {heads}"
        )
    hd = hparams.count("attention.key_length", embd // heads or None)
    vd = hparams.count("attention.value_length", hd)
    rotated = hparams.count("rope.dimension_count", hd)
    hparams.require(
        rotated <= hd and rotated % 2 == 0, f"rope.dimension_count {rotated}, allowed an even number up to {hd}"
    )
    return DenseShape(
        layers=layers,
        context=hparams.count("context_length", high=1 << 31),
        embd=embd,
        ff=hparams.count("feed_forward_length"),
        heads=heads,
        kv_heads=kv_heads,
        hd=hd,
        vd=vd,
        rotated=rotated,
        eps=hparams.number(eps_key, low=0.0, high=1.0),
        vocab=hparams.vocab,
    )
