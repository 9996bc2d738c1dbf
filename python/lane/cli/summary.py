"""The line that sums up a run."""

from __future__ import annotations

from lane.api import Model
from lane.cli.text import bytes_text, rate_text


def summary_text(model: Model, cut: str | None = None) -> str:
    """Load time, rates of the last generation and what cut it off, if something did, and bytes held: the mapped file
    apart from what lane allocated."""
    t = model.timings
    parts = dict(model.memory())
    file_bytes = parts.pop("checkpoint")
    said = [f"load {model.load_seconds:.2f} s"]
    if t.prefill_seconds:
        said.append(f"prefill {t.prefill_tokens} tokens, {rate_text(t.prefill_tokens, t.prefill_seconds)}")
    if t.decode_seconds:
        said.append(f"decode {t.decode_tokens} tokens, {rate_text(t.decode_tokens, t.decode_seconds)}")
    if cut is not None:
        said.append(cut)
    said.append(f"memory {bytes_text(sum(parts.values()))} beside the file's {bytes_text(file_bytes)}")
    return "lane: " + "; ".join(said)
