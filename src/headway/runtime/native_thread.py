"""A thread of the operating system that runs machine code and never enters Python."""

import ctypes
import signal
import sys

AVAILABLE = sys.platform == "linux"
"""True where a semaphore is plain memory, and each thread has its own priority."""


class NativeThread:
    """A thread that waits for a semaphore. It ends with the process."""

    def __init__(self, code: int, memory: int, owner: object) -> None:
        """Start a thread. Raises OSError if the system refuses.

        code: the address of a C function, which gets the address `memory`. The semaphore is there
        (32 bytes). owner: the object that holds this memory. It is never freed, not even when the
        interpreter ends, because the thread may run until the process does.
        """
        # `PyDLL` keeps the GIL during a call: the call takes less time than releasing the GIL.
        self._post = ctypes.PyDLL(None).sem_post
        self._semaphore = ctypes.c_void_p(memory)
        library, thread = ctypes.CDLL(None), ctypes.c_void_p()
        library.sem_init(self._semaphore, 0, 0)
        # The new thread inherits this mask, so only threads of Python receive signals.
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
        """Post the semaphore: one wait of the thread ends."""
        self._post(self._semaphore)
