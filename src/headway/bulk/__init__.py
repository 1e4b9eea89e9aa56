"""Translate many lines with many processes, on any machines that share a folder.

The input is cut into shards, ranges of lines. A worker claims a shard, translates it and writes a
part. A process may end at any moment: it leaves a complete part, or nothing that counts as
done. So the merged text has one line for each line of the input, in its order.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.bulk.ray import ray_dataset

__all__ = ["ray_dataset"]


def __getattr__(name: str) -> Any:
    """Import `ray_dataset`, with the model behind it, when it is first used."""
    if name != "ray_dataset":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from headway.bulk.ray import ray_dataset

    return ray_dataset
