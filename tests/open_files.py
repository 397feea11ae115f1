"""Which files this process has open."""

import os
from pathlib import Path

import pytest


def open_files(folder: Path) -> list[str]:
    """Those at or below a path; what another thread closes meanwhile counts as closed."""
    handles = Path("/proc/self/fd")
    if not handles.exists():
        pytest.skip("this system does not show open files")
    targets = (os.path.realpath(handle) for handle in handles.iterdir())
    return [target for target in targets if target.startswith(str(folder.resolve()))]
