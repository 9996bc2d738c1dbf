"""Quant formats, one file each: the checkpoint's bytes as blocks, blocks as float32 values.

`registry.FORMATS` is the ordered list; `format.Format` says what a format is; `tables` writes their geometry
and constant tables as a C++ header. A leaf: it imports nothing of lane but the errors.
"""
