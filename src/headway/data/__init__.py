"""Text on disk to padded batches: read, clean, tokenize, batch.

The rooms, in the order in which text passes them: `corpus` reads pairs, `tokenizer` cuts text
into pieces, `cleaning` leaves out what cannot be trained on, `batching` pads and shifts. Each is
imported from its own file, so that reading text does not import torch.
"""
