"""All settings: sizes, data, recipe of training and decoding, and the named presets."""
