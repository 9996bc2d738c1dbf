"""Every architecture: its steps verify and run, with and without the tensors a file may have, under both heads."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from lane.graph.graph import Head
from lane.graph.ops import Attention, Gather, Moe, Rotate, Scale
from lane.graph.ops.base import Array, Op
from lane.graph.reference import Reference
from lane.graph.tensor import Role
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.mixture import Router, RouterScore
from lane.models.architecture import TensorRow
from lane.models.recognise import Model
from lane.models.registry import ARCHITECTURES
from tests.py.models.tiny import BY_NAME, NAMES, VOCAB, Tiny, architecture_of, last_of, table_of, tiny

TOKENS = [1, 7, 7, 39, 0, 22, 5, 13]


def logits(model: Model) -> Array:
    return Reference(model.source.matrix).run(model.step(len(TOKENS), Head.ALL), TOKENS, 0)


def ops(model: Model, kind: type[Op]) -> list[Op]:
    return [op for op in model.step(1).ops if isinstance(op, kind)]


@pytest.mark.parametrize("optional", [False, True], ids=["required alone", "optional too"])
@pytest.mark.parametrize("name", NAMES)
def test_steps_run_and_agree(name: str, optional: bool, tmp_path: Path) -> None:
    """A chunk with the head over all rows, its last row alone, and the same tokens one by one."""
    model = tiny(name, optional=optional).recognise(tmp_path)
    every = logits(model)
    assert every.shape == (len(TOKENS), VOCAB)
    assert np.isfinite(every).all()
    last = Reference(model.source.matrix).run(model.step(len(TOKENS), Head.LAST), TOKENS, 0)
    np.testing.assert_allclose(last, every[-1:], rtol=1e-9)
    stepwise = Reference(model.source.matrix)
    for pos, token in enumerate(TOKENS):
        np.testing.assert_allclose(stepwise.run(model.step(1), [token], pos), every[pos : pos + 1], rtol=1e-9)


OPTIONAL = [(name, row) for name in NAMES for row in table_of(name) if not row.required]


@pytest.mark.parametrize(("name", "row"), OPTIONAL, ids=lambda v: v.pattern if isinstance(v, TensorRow) else None)
def test_an_optional_tensor_is_used(name: str, row: TensorRow, tmp_path: Path) -> None:
    """None is accepted and then forgotten: without it the logits are others."""
    # long factors hold above the original context alone; a file has those of both or of neither
    changed = {"rope__scaling__original_context_length": 16} if row.pattern == "rope_factors_long.weight" else {}
    made = tiny(name, optional=True, **changed)
    factors = ("rope_factors_short.weight", "rope_factors_long.weight")
    without = Tiny(made.name, made.metadata, dict(made.tensors))
    for tensor in factors if row.pattern in factors else (last_of(name, row),):
        del without.tensors[tensor]
    assert np.abs(logits(made.recognise(tmp_path)) - logits(without.recognise(tmp_path))).max() > 1e-6


def test_layers_may_differ(tmp_path: Path) -> None:
    """Heads, key/value heads and the feed-forward's width by layer: tensors, caches and logits follow."""
    made = tiny("llama", attention__head_count=[4, 2], attention__head_count_kv=[2, 1], feed_forward_length=[64, 96])
    model = made.recognise(tmp_path)
    assert made.tensors["blk.0.attn_q.weight"].shape == (32, 32) and made.tensors["blk.1.attn_q.weight"].shape == (
        16,
        32,
    )
    assert made.tensors["blk.1.ffn_up.weight"].shape == (96, 32)
    step = model.step(1)
    assert [step.tensors[f"blk.{i}.k_cache"].cols for i in range(2)] == [16, 8]
    assert [(op.heads, op.kv_heads) for op in step.ops if isinstance(op, Attention)] == [(4, 2), (2, 1)]
    uniform = tiny("llama", attention__head_count=[4, 4], attention__head_count_kv=[2, 2], feed_forward_length=[64, 64])
    plain = tiny("llama")
    assert np.isfinite(logits(model)).all()
    np.testing.assert_array_equal(logits(uniform.recognise(tmp_path)), logits(plain.recognise(tmp_path)))


def test_layers_that_predict_further_tokens_are_not_run(tmp_path: Path) -> None:
    """They are counted in block_count; their tensors are of no concern."""
    made, plain = tiny("llama", block_count=3), tiny("llama")
    made.tensors["blk.2.nextn.eh_proj.weight"] = np.ones((32, 64), np.float32)
    made.metadata["nextn_predict_layers"] = 1
    for name, array in plain.tensors.items():
        made.tensors[name] = array
    np.testing.assert_array_equal(logits(made.recognise(tmp_path)), logits(plain.recognise(tmp_path)))


# --- what sets families apart -----------------------------------------------------------------------------------------

INTERLEAVED = {"llama", "mixtral", "smollm3", "granite", "minicpm", "granitemoe", "deepseek2", "deepseek2 lite"}


@pytest.mark.parametrize("name", NAMES)
def test_pair_layouts(name: str, tmp_path: Path) -> None:
    layouts = {op.layout for op in ops(tiny(name).recognise(tmp_path), Rotate) if isinstance(op, Rotate)}
    assert layouts == {RopeLayout.INTERLEAVED if name in INTERLEAVED else RopeLayout.SPLIT}


def rotated_layers(model: Model) -> list[int]:
    return [int(op.written()[0].split(".")[1]) for op in ops(model, Rotate) if "attn_q" in op.written()[0]]


def windows(model: Model) -> list[int]:
    return [op.window for op in ops(model, Attention) if isinstance(op, Attention)]


def test_smollm3_leaves_every_fourth_layer_unrotated(tmp_path: Path) -> None:
    assert rotated_layers(tiny("smollm3", block_count=9).recognise(tmp_path)) == [0, 1, 2, 4, 5, 6, 8]


def test_granite_rotates_unless_told_not_to(tmp_path: Path) -> None:
    assert rotated_layers(tiny("granite").recognise(tmp_path)) == [0, 1]
    assert rotated_layers(tiny("granite", rope__scaling__finetuned=False).recognise(tmp_path)) == []
    # elsewhere the key says nothing about the rotation
    assert rotated_layers(tiny("llama", rope__scaling__finetuned=False).recognise(tmp_path)) == [0, 1]


def test_granite_scales(tmp_path: Path) -> None:
    made = tiny("granite", attention__scale=0.125, embedding_scale=12.0, residual_scale=0.5, logit_scale=8.0)
    model = made.recognise(tmp_path)
    assert [op.scale for op in ops(model, Attention) if isinstance(op, Attention)] == [0.125, 0.125]
    assert [op.scale for op in ops(model, Gather) if isinstance(op, Gather)] == [12.0]
    assert [op.c for op in ops(model, Scale) if isinstance(op, Scale)] == [0.5] * 4 + [0.125]


def test_minicpm_scales_by_constants_where_the_file_has_none(tmp_path: Path) -> None:
    made = tiny("minicpm", embedding_length=512)
    model = made.recognise(tmp_path)
    assert [op.scale for op in ops(model, Gather) if isinstance(op, Gather)] == [12.0]
    assert [op.c for op in ops(model, Scale) if isinstance(op, Scale)] == [1.4 / 2**0.5] * 4 + [256 / 512]
    own = tiny("minicpm", embedding_scale=3.0, residual_scale=0.5, logit_scale=8.0).recognise(tmp_path)
    assert [op.scale for op in ops(own, Gather) if isinstance(op, Gather)] == [3.0]
    assert [op.c for op in ops(own, Scale) if isinstance(op, Scale)] == [0.5] * 4 + [0.125]


@pytest.mark.parametrize("name", ["gemma", "gemma2", "gemma3"])
def test_gemma_scales_embeddings_by_the_root_of_the_width(name: str, tmp_path: Path) -> None:
    gathers = ops(tiny(name).recognise(tmp_path), Gather)
    assert [op.scale for op in gathers if isinstance(op, Gather)] == [32**0.5]


def routers(model: Model) -> list[Router]:
    return [op.router for op in ops(model, Moe) if isinstance(op, Moe)]


def test_routers(tmp_path: Path) -> None:
    softmax, sigmoid = RouterScore.SOFTMAX, RouterScore.SIGMOID
    for name, wanted in (
        ("mixtral", Router(softmax, 4, 2, renormalise=True, group_best=1)),
        ("qwen2moe", Router(softmax, 4, 2, renormalise=False, group_best=1)),
        ("qwen3moe", Router(softmax, 4, 2, renormalise=True, group_best=1)),
        ("olmoe", Router(softmax, 4, 2, renormalise=False, group_best=1)),
        ("lfm2moe", Router(sigmoid, 4, 2, renormalise=True)),
        ("deepseek2", Router(softmax, 4, 2, renormalise=False, group_best=1)),
    ):
        assert set(routers(tiny(name).recognise(tmp_path))) == {wanted}
    own = {"expert_gating_func": 2, "expert_weights_norm": True, "expert_weights_scale": 2.5}
    grouped = tiny("deepseek2", **own, expert_group_count=2, expert_group_used_count=1)
    assert set(routers(grouped.recognise(tmp_path))) == {Router(sigmoid, 4, 2, True, 2.5, 2, 1)}


def test_leading_layers_are_dense(tmp_path: Path) -> None:
    model = tiny("glm4moe", block_count=4, leading_dense_block_count=2).recognise(tmp_path)
    mixed = [op.out for op in ops(model, Moe) if isinstance(op, Moe)]
    assert mixed == ["blk.2.ffn_mixed", "blk.3.ffn_mixed"]


def test_deepseek2_scales_scores_by_yarn_and_not_the_rotation(tmp_path: Path) -> None:
    """The multiplier is stored times 0.1: √(1 / width)·(1 + m·ln(factor))²; cos and sin stay as they are."""
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}
    made = tiny("deepseek2")
    made.metadata.update(yarn | {"rope.scaling.yarn_log_multiplier": 0.07})
    model = made.recognise(tmp_path)
    scales = [op.scale for op in ops(model, Attention) if isinstance(op, Attention)]
    assert scales == pytest.approx([12**-0.5 * (1 + 0.07 * math.log(4.0)) ** 2] * 2, rel=1e-6)
    cos = model.step(1).tensors["rope.cos"].placement.array  # type: ignore[union-attr]
    assert cos[0].tolist() == [1.0, 1.0]


def test_windows(tmp_path: Path) -> None:
    assert windows(tiny("gemma2", block_count=4).recognise(tmp_path)) == [4096, 0, 4096, 0]
    own = tiny("gemma2", block_count=4, attention__sliding_window=8)
    assert windows(own.recognise(tmp_path)) == [8, 0, 8, 0]
    assert windows(tiny("gemma3", block_count=7).recognise(tmp_path)) == [0] * 7
    own = tiny("gemma3", block_count=7, attention__sliding_window=8)
    assert windows(own.recognise(tmp_path)) == [8, 8, 8, 8, 8, 0, 8]
    own.metadata["attention.sliding_window_pattern"] = 2
    assert windows(own.recognise(tmp_path)) == [8, 0, 8, 0, 8, 0, 8]
    own.metadata["attention.sliding_window_pattern"] = [True, False, False, True, True, False, False]
    assert windows(own.recognise(tmp_path)) == [8, 0, 0, 8, 8, 0, 0]
    olmo = tiny("olmo2", block_count=5, attention__sliding_window=8)
    assert windows(olmo.recognise(tmp_path)) == [8, 8, 8, 0, 8]


def states(model: Model) -> dict[str, tuple[int, int]]:
    return {t.name: (t.rows, t.cols) for t in model.step(1).tensors.values() if t.role is Role.STATE}


def test_carried_state_is_of_the_layer_s_kind(tmp_path: Path) -> None:
    """Caches of a row a position (latent attention: one for all heads), rings of a row a tap, memories of a matrix a
    head."""
    assert states(tiny("qwen35").recognise(tmp_path)) == {
        "blk.0.conv_ring": (4, 64),
        "blk.0.memory": (4, 64),
        "blk.1.k_cache": (64, 16),
        "blk.1.v_cache": (64, 16),
    }
    assert states(tiny("lfm2").recognise(tmp_path)) == {
        "blk.0.shortconv.ring": (3, 32),
        "blk.1.k_cache": (64, 16),
        "blk.1.v_cache": (64, 16),
        "blk.2.shortconv.ring": (3, 32),
    }
    assert states(tiny("minicpm3").recognise(tmp_path)) == {
        "blk.0.latent_cache": (64, 20),
        "blk.1.latent_cache": (64, 20),
    }


def test_recurrent_layers_are_those_that_the_file_lists(tmp_path: Path) -> None:
    listed = tiny("qwen35", attention__recurrent_layers=[False, True]).recognise(tmp_path)
    assert [name for name in states(listed) if name.endswith("memory")] == ["blk.1.memory"]


@pytest.mark.parametrize("name", ["llama", "phi3"])
def test_two_architectures_ignore_a_window(name: str, tmp_path: Path) -> None:
    assert windows(tiny(name, attention__sliding_window=8).recognise(tmp_path)) == [0, 0]


@pytest.mark.parametrize("family", ["phi3", "minicpm"])
def test_longrope_chooses_its_factors_by_the_context(family: str, tmp_path: Path) -> None:
    made = tiny(family, optional=True, rope__scaling__original_context_length=32)
    long, short = made.recognise(tmp_path, 33), made.recognise(tmp_path, 32)
    for model, name in ((long, "rope_factors_long.weight"), (short, "rope_factors_short.weight")):
        cos = model.step(1).tensors["rope.cos"].placement.array  # type: ignore[union-attr]
        angles = 10000.0 ** (-np.arange(0, 8, 2) / 8) / made.tensors[name]
        np.testing.assert_allclose(cos[1], np.cos(angles), rtol=1e-6)


def test_a_dimension_of_one(tmp_path: Path) -> None:
    for key in ("feed_forward_length", "attention.value_length"):
        assert np.isfinite(logits(tiny("llama", **{key.replace(".", "__"): 1}).recognise(tmp_path))).all()


def test_no_two_architectures_share_a_name() -> None:
    assert len(BY_NAME) == len(ARCHITECTURES)


def test_every_row_of_every_table_is_tried() -> None:
    tried = {(architecture_of(name).name, row) for name in NAMES for row in table_of(name)}
    assert tried == {(a.name, row) for a in ARCHITECTURES for row in a.tensors}
