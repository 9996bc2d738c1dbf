"""The text form of a step graph: stable, one line a tensor that no op computes and one line an op."""

from __future__ import annotations

from lane.graph.graph import StepGraph
from lane.graph.tensor import Role


def dump(graph: StepGraph) -> str:
    """The graph as text; goldens compare it."""
    logits = ",".join(sequence.logits for sequence in graph.io.sequences)
    lines = [f"step rows={graph.rows} head={graph.head.value} logits={logits}"]
    lines += [f"  {t}" for t in graph.tensors.values() if t.role is not Role.ACTIVATION]
    for op in graph.ops:
        out = graph.tensors[op.written()[0]]
        lines.append(f"  {op}  -> {out.rows}x{out.cols}")
    return "\n".join(lines) + "\n"
