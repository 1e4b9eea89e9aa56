"""Versions of the installed packages, which results depend on."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def installed_versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each package; None if it is not installed."""
    return {name: _version(name) for name in packages}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
