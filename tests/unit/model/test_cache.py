"""Caches keep what was projected, once, and follow their rows."""

import torch

from headway.model.cache import DecoderCache, FixedCache, GrowingCache, KeysValues


def keys_values(start: float) -> KeysValues:
    k = start + torch.arange(24.0).view(2, 3, 1, 4)
    return k, 100 + k[..., :2]


def test_a_growing_cache_appends_along_positions() -> None:
    cache = GrowingCache()
    assert cache.length == 0

    cache.update(lambda: keys_values(0))
    k, v = cache.update(lambda: keys_values(50))

    assert cache.length == 2
    assert (k.shape, v.shape) == ((2, 3, 2, 4), (2, 3, 2, 2))
    assert torch.equal(k[:, :, 0], keys_values(0)[0][:, :, 0])
    assert torch.equal(v[:, :, 1], keys_values(50)[1][:, :, 0])


def test_a_fixed_cache_projects_once() -> None:
    cache, calls = FixedCache(), []

    def project() -> KeysValues:
        calls.append(1)
        return keys_values(7)

    first, second = cache.update(project), cache.update(project)

    assert calls == [1]
    assert torch.equal(first[0], second[0])


def test_reordering_keeps_rows_in_the_order_given() -> None:
    cache = DecoderCache(1)
    cache.layers[0].self_attention.update(lambda: keys_values(0))
    cache.layers[0].cross_attention.update(lambda: keys_values(0))

    cache.reorder(torch.tensor([1, 1, 0]))

    for part in (cache.layers[0].self_attention, cache.layers[0].cross_attention):
        assert part.keys_values is not None
        for tensor, before in zip(part.keys_values, keys_values(0), strict=True):
            assert torch.equal(tensor, torch.stack([before[1], before[1], before[0]]))


def test_reordering_inside_sentences_leaves_the_memory_alone() -> None:
    cache = DecoderCache(1)
    cache.layers[0].self_attention.update(lambda: keys_values(0))
    memory = cache.layers[0].cross_attention.update(lambda: keys_values(0))

    cache.reorder(torch.tensor([1, 0]), same_sentences=True)

    own = cache.layers[0].self_attention.keys_values
    assert own is not None
    assert torch.equal(own[0], keys_values(0)[0].flip(0))
    assert cache.layers[0].cross_attention.keys_values is memory


def test_an_empty_cache_can_be_reordered_and_has_no_length() -> None:
    cache = DecoderCache(2)

    cache.reorder(torch.tensor([0]))

    assert cache.length == 0
    assert DecoderCache(0).length == 0
