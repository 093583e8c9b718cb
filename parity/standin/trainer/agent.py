"""verl's single-turn agent loop with its requests in a fixed order: a row asks when the one before it is answered."""

from __future__ import annotations

import asyncio
import random
from typing import Any, ClassVar

from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

from parity.standin.trainer import inject

DELAY = 0.05


class SerialAgentLoop(SingleTurnAgentLoop):  # type: ignore[misc]
    """verl tokenises in a thread pool, so that rows of one prompt reach the server in any order, and swap places."""

    # Of the class: verl makes one object for each row. A lock serves those who wait in the order they came.
    _turn: ClassVar[asyncio.Lock] = asyncio.Lock()

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        """One row, when the rows before it are done."""
        delay = DELAY if inject.settings()["noise"] == "delays" else 0.0
        async with self._turn:
            await asyncio.sleep(delay * random.SystemRandom().random())
            answer = await super().run(sampling_params, **kwargs)
        # Scores are asked for without the lock: their order may not matter either.
        await asyncio.sleep(delay * random.SystemRandom().random())
        return answer
