"""What is told while the program ends."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from types import FrameType
from typing import Protocol


class Closes(Protocol):
    def close(self) -> None: ...


_open: list[Closes] = []


def at_exit(memory: Closes) -> None:
    """Closes something before the program ends by itself, or by a SIGTERM that nobody else handles."""
    _open.append(memory)
    main = threading.current_thread() is threading.main_thread()  # others may set no handler
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_signal)


def not_at_exit(memory: Closes) -> None:
    """Takes that back."""
    _open.remove(memory)


@atexit.register
def _close_all() -> None:
    for memory in list(_open):
        memory.close()


def _on_signal(number: int, _: FrameType | None) -> None:
    _close_all()
    signal.signal(number, signal.SIG_DFL)  # as it would have ended without us
    os.kill(os.getpid(), number)
