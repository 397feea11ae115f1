"""Every door that reads a file survives hostile ones: no escape, no hang, little memory, an error that says why."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("hostile_files")


@pytest.fixture(scope="module")
def found(tmp_path_factory, offline_environment):
    """What came of each file, tried in a process of its own."""
    folder = tmp_path_factory.mktemp("hostile")
    environment = {**offline_environment, "PYTHONPATH": f"{offline_environment['PYTHONPATH']}:{ROOT}"}
    command = [sys.executable, "-m", "tests.hostile_files", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=500)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_there_are_at_least_a_hundred_over_all_formats(found):
    assert len(found) >= 110


def test_each_is_read_or_refused_by_an_error_of_ours_that_is_short(found):
    foreign = [each for each in found if each["outcome"].startswith("FOREIGN") or len(each["outcome"]) > 2_000]
    assert foreign == []


def test_none_hangs(found):
    assert [each for each in found if each["seconds"] > 60] == []


def test_none_takes_500_megabytes(found):
    assert [each for each in found if each["megabytes"] >= 500] == []


def test_none_writes_elsewhere(found):
    assert [each for each in found if each["left"]] == []


def test_no_hostile_backup_is_restored(found):
    of_backups = [each for each in found if each["name"].startswith("restore: ")]
    assert [each for each in of_backups if each["restored"] or not each["outcome"].startswith("BackupDamaged")] == []


@pytest.mark.parametrize("door", ["database", "graph", "settings", "sync"])
def test_what_is_refused_says_what_is_wrong(found, door):
    refused = [each for each in found if each["name"].startswith(f"{door}: ") and each["outcome"] != "read"]
    kinds = (
        "UnreadableFile",
        "UnreadableSettings",
        "InvalidSettings",
        "ForeignFolder",
        "NotASyncFolder",
        "LinkRefused",
    )
    assert refused
    assert [each for each in refused if not each["outcome"].startswith(kinds)] == []
