"""From a GGUF file: metadata, tensors, tokenizer, chat template."""
