"""Versions of installed packages."""

import torch

from headway.runtime.versions import installed_versions


def test_a_package_that_is_missing_has_no_version() -> None:
    assert installed_versions(["torch", "no-such-package"]) == {
        "torch": torch.__version__,
        "no-such-package": None,
    }
