"""How well near-duplicates are told from conflicting entries: precision and recall on labelled pairs, by kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.reporting import Row
