"""As much of Ray as the client and the server use, in one process: actors, refs and `ray.get`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Ref:
    """What `.remote()` gives: a value, or a coroutine that runs when it is first asked for."""

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome
        self._done = not inspect.isawaitable(outcome)

    def get(self) -> Any:
        """The value, as `ray.get` waits for it, also from inside a running event loop."""
        if not self._done:
            self._outcome, self._done = wait(self._outcome), True
        return self._outcome

    def __await__(self) -> Generator[Any, None, Any]:
        if not self._done:
            self._outcome = yield from self._outcome.__await__()
            self._done = True
        return self._outcome


class _Remote:
    def __init__(self, method: Any) -> None:
        self._method = method

    def remote(self, *args: Any, **kwargs: Any) -> Ref:
        return Ref(self._method(*args, **kwargs))


class Actor:
    """A handle on an object in this process."""

    def __init__(self, inner: Any) -> None:
        self.__dict__["inner"] = inner

    def __getattr__(self, name: str) -> _Remote:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Remote(getattr(self.inner, name))


class LocalRay:
    """Stands where a module says `ray`."""

    @staticmethod
    def get(refs: Any, timeout: float | None = None) -> Any:
        """The values of one ref or of a list of refs."""
        if isinstance(refs, list):
            return [LocalRay.get(ref) for ref in refs]
        return refs.get() if isinstance(refs, Ref) else refs

    @staticmethod
    def is_initialized() -> bool:
        return True


def wait(awaitable: Awaitable[Any]) -> Any:
    """Run to the end, in a thread of its own where an event loop is already running here."""

    async def whole() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(whole())
    with ThreadPoolExecutor(1) as one:
        return one.submit(asyncio.run, whole()).result()
