"""Text on disk to padded batches: read, clean, tokenize, batch.

Text passes through the files in this order: `corpus` reads pairs, `tokenizer` cuts text into
pieces, `cleaning` drops unsuitable pairs, `batching` pads and shifts. Import each from its own
file, so that reading text does not import torch.
"""
