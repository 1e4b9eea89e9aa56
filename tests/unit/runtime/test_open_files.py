"""A process may raise its own limit on open files, up to what the system allows."""

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("Windows has no such limit", allow_module_level=True)

import resource

from headway.runtime.open_files import allow_many_open_files


def test_the_soft_limit_rises_to_the_hard_one_and_never_falls() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, hard = before
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        allow_many_open_files()
        soft, still = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert still == hard
        assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        allow_many_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
