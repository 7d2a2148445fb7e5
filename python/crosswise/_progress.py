"""Progress bars by tqdm where it is installed; silence where it is not."""

from __future__ import annotations

from typing import Any

from ._native import Event, OnEvent


class Bar:
    """A bar over the epochs of a training.  Use it as a context manager and as ``on_event``."""

    def __init__(self, show: bool, then: OnEvent | None = None) -> None:
        self._show = show
        self._then = then
        self._bar: Any = None
        self._phase = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *unused: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _open(self, phase: str, total: int) -> None:
        self._close()
        self._phase = phase
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._show = False
            return
        self._bar = tqdm(total=total or None, desc="training" if phase == "epoch" else phase)

    def __call__(self, event: Event) -> None:
        phase = str(event.get("event", ""))
        if self._show and "epoch" in event:
            if phase != self._phase:
                self._open(phase, int(event.get("epochs", 0)))
            if self._bar is not None:
                self._bar.update(1)
                self._bar.set_postfix(loss=f"{event.get('loss') or 0:.4g}", refresh=False)
        if self._then is not None:
            self._then(event)
