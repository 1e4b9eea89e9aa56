"""`headway warm-up`: compile the kernels ahead."""

import sys

from headway.cli.options import AsJson, Debug, Quiet, print_json


def warm_up(as_json: AsJson = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Compile the kernels for this processor now, so that the first run does not wait for them."""
    from headway.warm_up import warm_up as compile_ahead

    if not quiet:
        print("Compiling kernels for this processor: up to a minute.", file=sys.stderr)
    result = compile_ahead()
    folder = None if result is None or result.folder is None else str(result.folder)
    seconds = None if result is None else result.compiling
    if as_json:
        print_json({"compiling_seconds": seconds, "folder": folder})
    elif seconds is None:
        print("Numba is not installed, or cannot be used, so PyTorch computes: nothing to compile.")
    elif folder is None:
        print(
            "No folder can keep the machine code, so each process compiles again. Set the "
            "environment variable NUMBA_CACHE_DIR to a folder that you can write to."
        )
    else:
        message = f"Compiled in {seconds:.0f} seconds" if seconds else "Compiled before"
        print(f"{message}. The machine code is kept in {folder}.")
