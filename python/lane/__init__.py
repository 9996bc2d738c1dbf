"""lane: an ahead-of-time compiler for language-model inference on one device."""

__version__ = "0.1.0"
