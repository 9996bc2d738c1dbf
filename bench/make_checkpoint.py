"""Makes a checkpoint of random weights: `python bench/make_checkpoint.py OUT --family llama --size 0.5B --format Q4_K`.

In: a family that lane knows, a size, a format. Out: a GGUF file that lane and other programs load, with a small
byte-level tokenizer. Its keys and tensors are those that the family's own file reads, so a family added to lane is one
added here. Matrices are written straight as blocks, a gigabyte in seconds; a matrix's values are of size 1/√cols, so
that activations stay finite.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from lane.errors import UsageError
from lane.models.architecture import Architecture, Config, named_tensors
from lane.models.hparams import Hparams
from lane.models.registry import ARCHITECTURES
from lane.quant.format import Format
from lane.quant.registry import format_named

Bytes = npt.NDArray[np.uint8]

POOL_BLOCKS = 2048  # different blocks of a format and width; a matrix draws from them
DRAWN_BLOCKS = 1024  # random blocks tried at a time
FRESH_BYTES = 0.25  # share of a block's bytes that are new
MAX_DRAWS = 1000
SLAB_BLOCKS = 1 << 18  # written at a time
EMBEDDING = "token_embd.weight"
CONTROLS = ("<|endoftext|>", "<unk>", "<s>", "</s>")  # llama.cpp looks for each of them in a phi3
HEAD = "output.weight"


@dataclass(frozen=True, slots=True)
class Size:
    """A model's shape."""

    layers: int
    embd: int
    ff: int
    heads: int
    kv_heads: int
    vocab: int
    context: int = 4096


SIZES: Mapping[str, Size] = {
    "tiny": Size(layers=2, embd=256, ff=512, heads=4, kv_heads=2, vocab=512, context=512),
    "0.1B": Size(layers=12, embd=768, ff=2048, heads=12, kv_heads=4, vocab=32000),
    "0.5B": Size(layers=28, embd=1024, ff=4096, heads=16, kv_heads=8, vocab=32000),
    "1B": Size(layers=16, embd=2048, ff=8192, heads=32, kv_heads=8, vocab=32000),
    "3B": Size(layers=28, embd=3072, ff=8192, heads=24, kv_heads=8, vocab=64000),
    "8B": Size(layers=32, embd=4096, ff=14336, heads=32, kv_heads=8, vocab=128000),
}


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """A tensor to write: its shape, innermost dimension first; `plain` is what families read as values."""

    name: str
    shape: tuple[int, ...]
    format: Format
    plain: bool

    @property
    def rows(self) -> int:
        """Rows of shape[0] values."""
        return math.prod(self.shape[1:])

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        return self.format.bytes_of(self.shape[0])


def own_keys(family: str, size: Size) -> Mapping[str, object]:
    """Hyperparameters that a family reads and that others must not be offered: they would be read as mixtures."""
    experts = {"expert_count": 8, "expert_used_count": 2}
    narrow = {**experts, "expert_feed_forward_length": size.ff // 4}
    shared = {"expert_shared_feed_forward_length": size.ff // 2}
    delta = {
        "full_attention_interval": min(4, size.layers),
        "ssm.conv_kernel": 4,
        "ssm.state_size": 64,
        "ssm.group_count": 2,
        "ssm.time_step_rank": 4,
        "ssm.inner_size": 4 * 64,
    }
    attending = [size.kv_heads if i % 2 else 0 for i in range(size.layers)]
    convolution = {"attention.head_count_kv": np.array(attending), "shortconv.l_cache": 3}
    width = size.embd // size.heads
    latent = {"attention.q_lora_rank": size.embd // 2, "attention.kv_lora_rank": size.embd // 4}
    return {
        "qwen2moe": {**narrow, **shared},
        "qwen3moe": narrow,
        "olmoe": experts,
        "granitemoe": {**experts, **shared},
        "gpt-oss": narrow,
        "glm4moe": {**narrow, "leading_dense_block_count": 1, "expert_shared_count": 1},
        "qwen3next": {**narrow, **shared, **delta},
        "qwen35": delta,
        "qwen35moe": {**narrow, **shared, **delta},
        "deepseek2": {
            **narrow,
            **latent,
            "attention.head_count_kv": 1,
            "attention.key_length": size.embd // 4 + width // 2,
            "attention.key_length_mla": width,
            "attention.value_length_mla": width,
            "rope.dimension_count": width // 2,
            "leading_dense_block_count": 1,
            "expert_shared_count": 1,
        },
        "minicpm3": {**latent, "rope.dimension_count": width // 2},
        "lfm2": convolution,
        "lfm2moe": {**narrow, **convolution, "leading_dense_block_count": 1, "expert_gating_func": 2},
    }.get(family, {})


class Offered(Mapping[str, object]):
    """A size's hyperparameters under a family's prefix; `asked` remembers those that the family reads."""

    def __init__(self, family: str, size: Size) -> None:
        width = size.embd // size.heads
        values: dict[str, object] = {
            "block_count": size.layers,
            "context_length": size.context,
            "embedding_length": size.embd,
            "feed_forward_length": size.ff,
            "attention.head_count": size.heads,
            "attention.head_count_kv": size.kv_heads,
            "attention.key_length": width,
            "attention.value_length": width,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "attention.layer_norm_epsilon": 1e-5,
            "attention.sliding_window": min(1024, size.context),
            "rope.dimension_count": width,
            "rope.freq_base": 10000.0,
            "logit_scale": 8.0,
        }
        values |= own_keys(family, size)
        self._values = {f"{family}.{key}": value for key, value in values.items()}
        self.asked: dict[str, object] = {}

    def __getitem__(self, key: str) -> object:
        value = self._values[key]
        self.asked[key] = value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def make(
    path: Path,
    family: str,
    size: Size,
    formats: tuple[str, str],
    *,
    tied: bool = False,
    seed: int = 0,
    template: str | None = None,
    sparse: bool = False,
) -> None:
    """Writes a checkpoint; `formats` are those of the matrices, and of the embedding and a head of its own. `sparse`:
    the tensors are holes in the file, all zero and without disk space, for what asks after sizes alone."""
    architecture = _architecture(family)
    offered = Offered(family, size)
    config = architecture.read(Hparams(offered, family, vocab=size.vocab))
    plans = list(plan_tensors(architecture, config, formats, tied))
    writer = gguf.GGUFWriter(path, family)
    writer.add_name(f"random {family}")
    for key, value in offered.asked.items():
        _add_key(writer, key, value)
    _add_tokenizer(writer, size.vocab)
    if template is not None:
        writer.add_chat_template(template)
    for plan in plans:
        _add_info(writer, plan)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    if sparse:
        _leave_holes(path, plans, writer.data_alignment)
    else:
        _write_data(path, plans, writer.data_alignment, np.random.default_rng(seed))


def plan_tensors(
    architecture: Architecture[Any], config: Config, formats: tuple[str, str], tied: bool
) -> Iterator[TensorPlan]:
    """The tensors that the family requires, and a head of its own unless tied to the embedding."""
    matrix, embedding = (format_named(name) for name in formats)
    for tensor in named_tensors(architecture, config):
        row = tensor.row
        if not row.required and (row.pattern != HEAD or tied):
            continue
        format = embedding if row.pattern in (EMBEDDING, HEAD) else matrix
        shape = tensor.shape[::-1]
        plain = row.plain or len(shape) == 1
        plan = TensorPlan(tensor.name, shape, format_named("F32") if plain else format, plain)
        if shape[0] % plan.format.block_elems:
            raise UsageError(
                f"make_checkpoint: '{plan.name}' has rows of {shape[0]} values, "
                f"allowed a multiple of {format.block_elems} ({format.name})"
            )
        yield plan


def block_pool(format: Format, rms: float, rng: np.random.Generator) -> Bytes:
    """Blocks whose values' root mean square is `rms`, within a factor of two: blocks × bytes of one.

    For a format that shares scales, whatever its bits mean: blocks of random bytes, of which those are kept that fit.
    """
    if format.block_elems == 1:
        return format.encode(rng.normal(0.0, rms, (POOL_BLOCKS, 1)).astype(np.float32))
    kept = np.empty((0, format.block_bytes), np.uint8)
    for _ in range(MAX_DRAWS):
        drawn = _draw(kept, rng)
        with np.errstate(all="ignore"):
            found = np.sqrt(np.mean(np.square(format.decode(drawn)), axis=1))
        kept = np.concatenate([kept, drawn[(found > rms / 2) & (found < rms * 2)]])
        if len(kept) >= POOL_BLOCKS:
            return kept[:POOL_BLOCKS]
    raise UsageError(f"make_checkpoint: format {format.name}: no blocks of values around {rms} found")


def _draw(kept: Bytes, rng: np.random.Generator) -> Bytes:
    """Random blocks; most bytes are taken from blocks that fit, once there are any, so that scales tend to fit too."""
    width = kept.shape[1]
    fresh = rng.integers(0, 256, (DRAWN_BLOCKS, width), np.uint8)
    if len(kept) == 0:
        return fresh
    taken = kept[rng.integers(0, len(kept), fresh.shape), np.arange(width)]
    return np.where(rng.random(fresh.shape) < FRESH_BYTES, fresh, taken)


def _write_data(path: Path, plans: list[TensorPlan], alignment: int, rng: np.random.Generator) -> None:
    """Tensors one after the other, each padded to the alignment, a slab of blocks at a time."""
    pools: dict[tuple[str, int], Bytes] = {}
    with path.open("ab") as out:
        _pad(out.write, out.tell(), alignment)
        for plan in plans:
            for slab in _slabs(plan, pools, rng):
                slab.tofile(out)
            _pad(out.write, plan.rows * plan.row_bytes, alignment)


def _leave_holes(path: Path, plans: list[TensorPlan], alignment: int) -> None:
    """The room of the tensors, nothing written there."""
    sizes = [path.stat().st_size, *(plan.rows * plan.row_bytes for plan in plans)]
    os.truncate(path, sum(-(-size // alignment) * alignment for size in sizes))


def _slabs(plan: TensorPlan, pools: dict[tuple[str, int], Bytes], rng: np.random.Generator) -> Iterator[Bytes]:
    if plan.plain:
        yield _vector(plan, rng).view(np.uint8)
        return
    key = (plan.format.name, plan.shape[0])
    if key not in pools:
        pools[key] = block_pool(plan.format, plan.shape[0] ** -0.5, rng)
    blocks = pools[key].view(np.dtype((np.void, plan.format.block_bytes))).reshape(-1)
    left = plan.rows * plan.row_bytes // plan.format.block_bytes
    while left:
        count = min(left, SLAB_BLOCKS)
        yield blocks[rng.integers(0, POOL_BLOCKS, count, np.uint16)]
        left -= count


def _vector(plan: TensorPlan, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """A bias or a matrix kept in F32 around 0; a norm's weight or a factor around 1, a log-decay around −1."""
    noise = rng.normal(0.0, 0.1, plan.rows * plan.shape[0])
    if len(plan.shape) > 1:
        return noise.astype(np.float32)
    if plan.name.endswith(".ssm_a"):
        return -np.abs(1.0 + noise).astype(np.float32)
    return (noise if plan.name.endswith(".bias") else np.abs(1.0 + noise)).astype(np.float32)


def _pad(write: object, at: int, alignment: int) -> None:
    assert callable(write)
    write(b"\0" * (-at % alignment))


def _architecture(family: str) -> Architecture[Any]:
    for architecture in ARCHITECTURES:
        if architecture.name == family:
            return architecture
    raise UsageError(
        f"make_checkpoint: family '{family}', allowed {', '.join(architecture.name for architecture in ARCHITECTURES)}"
    )


def _add_key(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    if isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, np.ndarray):
        writer.add_array(key, value.tolist())
    else:
        assert isinstance(value, int)
        writer.add_uint32(key, value)


def _add_info(writer: gguf.GGUFWriter, plan: TensorPlan) -> None:
    """GGUFWriter wants shapes outermost first, and of blocks the last one in bytes."""
    outer = tuple(reversed(plan.shape[1:]))
    size = plan.rows * plan.row_bytes
    kind = gguf.GGMLQuantizationType(plan.format.type_id)
    writer.add_tensor_info(plan.name, (*outer, plan.row_bytes), np.dtype(np.uint8), size, raw_dtype=kind)


def _add_tokenizer(writer: gguf.GGUFWriter, vocab: int) -> None:
    """Byte-level BPE: control tokens, the first of which ends, the 256 bytes, pairs of bytes, each by its merge; what
    is left over is unused."""
    letters = byte_letters()
    fewest = len(CONTROLS) + len(letters)
    pairs = [a + b for a, b in itertools.islice(itertools.product(letters, letters), max(0, vocab - fewest))]
    tokens = [*CONTROLS, *letters, *pairs]
    if len(tokens) > vocab:
        raise UsageError(f"make_checkpoint: a vocabulary of {vocab} tokens, allowed {fewest} or more")
    unused = [f"<|unused_{i}|>" for i in range(vocab - len(tokens))]
    kinds = [
        *[gguf.TokenType.CONTROL] * len(CONTROLS),
        *[gguf.TokenType.NORMAL] * (len(tokens) - len(CONTROLS)),
        *[gguf.TokenType.UNUSED] * len(unused),
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*tokens, *unused])
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{pair[0]} {pair[1]}" for pair in pairs])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)


def byte_letters() -> list[str]:
    """The character that stands for each byte in such a vocabulary: itself if it prints, else one from 256 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = itertools.count(256)
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Makes a checkpoint of random weights.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--family", default="llama", help=", ".join(a.name for a in ARCHITECTURES))
    parser.add_argument("--size", default="tiny", choices=SIZES)
    for field in dataclasses.fields(Size):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, help="instead of the size's")
    parser.add_argument("--format", default="Q8_0", help="of the matrices")
    parser.add_argument("--embedding-format", help="of the embedding and the head; default: the matrices'")
    parser.add_argument("--tied", action="store_true", help="no head of its own")
    parser.add_argument("--sparse", action="store_true", help="tensors that are holes in the file, for sizes alone")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    own = {f.name: getattr(a, f.name) for f in dataclasses.fields(Size) if getattr(a, f.name) is not None}
    size = dataclasses.replace(SIZES[a.size], **own)
    formats = (a.format, a.embedding_format or a.format)
    make(a.out, a.family, size, formats, tied=a.tied, seed=a.seed, sparse=a.sparse)


if __name__ == "__main__":
    main()
