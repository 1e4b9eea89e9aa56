"""A thread of the system that runs machine code, and has no part in Python."""

import ctypes
import signal
import sys

AVAILABLE = sys.platform == "linux"
"""True where threads have semaphores in memory, and priorities of their own."""


class NativeThread:
    """A thread that waits for a semaphore. It ends with the process."""

    def __init__(self, code: int, memory: int, owner: object) -> None:
        """Start a thread. Raises OSError if the system refuses.

        code: the address of a C function that takes an address, `memory`, where the semaphore is
        (32 bytes). owner: what keeps the thread's memory alive. It is never freed, not even when
        the interpreter ends, because the thread may run until the process does.
        """
        # A call that keeps the interpreter's lock: it takes less time than giving the lock away.
        self._post = ctypes.PyDLL(None).sem_post
        self._semaphore = ctypes.c_void_p(memory)
        library, thread = ctypes.CDLL(None), ctypes.c_void_p()
        library.sem_init(self._semaphore, 0, 0)
        # The new thread inherits the mask. Signals are for the threads of Python.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
            if library.pthread_create(
                ctypes.byref(thread), None, ctypes.c_void_p(code), self._semaphore
            ):
                raise OSError("the system starts no more threads")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def wake(self) -> None:
        """Let one wait for the semaphore end."""
        self._post(self._semaphore)
