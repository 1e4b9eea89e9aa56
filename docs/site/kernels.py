"""Kernels of pages and notebooks talk through files, and not through ports that others may take."""

import atexit
import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

import jupyter_client
from jupyter_client.manager import AsyncKernelManager
from traitlets import default


class LocalKernelManager(AsyncKernelManager):
    """A manager whose kernels have no port, where the system knows such a transport."""

    @default("transport")
    def _local(self) -> str:
        return "ipc" if os.name == "posix" else "tcp"

    @default("ip")
    def _place(self) -> str:
        """Return where the transport's files begin; the kernel runs in another folder."""
        if self.transport != "ipc":
            return "127.0.0.1"
        folder = mkdtemp(prefix="headway-kernel-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return str(Path(folder) / "kernel")


def use_local_kernels() -> None:
    """Let nbclient, which MyST-NB gives no manager, start this kind."""
    jupyter_client.AsyncKernelManager = LocalKernelManager
