"""A thread of the system that runs machine code, and has no part in Python."""

import ctypes
import sys

AVAILABLE = sys.platform == "linux"
"""True where threads have semaphores in memory, and priorities of their own."""


class NativeThread:
    """A thread that waits for a semaphore, in memory that never moves, for as long as it runs."""

    def __init__(self, code: int, memory: int) -> None:
        """Start a thread. Raises OSError if the system refuses.

        code: the address of a C function that takes an address, `memory`, where the semaphore is
        (32 bytes). The thread ends with the process.
        """
        self._library, self._semaphore = ctypes.CDLL(None), ctypes.c_void_p(memory)
        thread, start = ctypes.c_void_p(), self._library.pthread_create
        self._library.sem_init(self._semaphore, 0, 0)
        if start(ctypes.byref(thread), None, ctypes.c_void_p(code), self._semaphore):
            raise OSError("the system starts no more threads")

    def wake(self) -> None:
        """Let one wait for the semaphore end."""
        self._library.sem_post(self._semaphore)
