"""Leases go by the clock of the database, on which all machines agree."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from langmem_tiers import Memory, Turn, clock
from langmem_tiers.storage.leases import DREAM, Lease


@pytest.mark.parametrize("off", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_machine_whose_clock_is_wrong_does_not_begin_a_dream_beside_another(tmp_path, monkeypatch, off):
    class OfAnotherMachine(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(UTC) + off

    with Memory.open(tmp_path / "m", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="I prefer green tea.")], session="s").raise_rejected()
        alice.flush()
        with memory.use(alice.name) as store:
            Lease(store.database, DREAM, "another machine", 300, memory.clock).acquire()
        monkeypatch.setattr(clock, "datetime", OfAnotherMachine)
        report = alice.dream()
    assert (report.status, report.notes) == ("skipped", ("Another dream of this space is under way.",))
