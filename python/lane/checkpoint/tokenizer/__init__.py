"""The tokenizer of a checkpoint: text to token ids and back, from the metadata of its GGUF file."""

from lane.checkpoint.tokenizer.stream import TokenStream
from lane.checkpoint.tokenizer.tokenizer import Tokenizer

__all__ = ["TokenStream", "Tokenizer"]
