"""`langmem-tiers panel` serves a memory on this machine to the browser with its link."""

import subprocess
import sys

import httpx2
import pytest

from langmem_tiers import Memory
from langmem_tiers.cli.main import main
from langmem_tiers.testing import HashEmbedder


@pytest.fixture
def folder(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False) as memory:
        memory.user("alice").identity.write("Lives in Porto.")
    return tmp_path / "memory"


@pytest.fixture
def panel(folder, offline_environment):
    """Starts the command and gives its process and link; it is ended afterwards."""
    processes = []

    def start(*options):
        words = ["--path", str(folder), "--embedder", "none", *options, "panel", "--no-open", "--port", "0"]
        process = subprocess.Popen(
            [sys.executable, "-c", "from langmem_tiers.cli.main import main; main()", *words],
            env=offline_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process, process.stdout.readline().split()[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("options", [("--user", "alice"), ()])
def test_the_link_opens_the_memory_of_the_user_or_the_only_one_there_is(panel, options):
    process, link = panel(*options)
    with httpx2.Client(follow_redirects=True) as browser:
        assert "Lives in Porto." in browser.get(link).text
    with httpx2.Client(follow_redirects=True) as another:
        assert another.get(link).status_code == 401
    process.terminate()
    said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in said[1]
    assert link not in said[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--user", "bob"], "There is no user 'bob'"),
        (["--host", "0.0.0.0"], "--tls-cert"),
        (["--tls-cert", "x.pem"], "--tls-key"),
        (["--tls-cert", "x.pem", "--tls-key", "x.pem"], "x.pem is no file"),
        (["--origin", "evil"], "is no address"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(folder, capsys, words, said):
    before, after = (words, []) if words[0] == "--user" else ([], words)
    with pytest.raises(SystemExit):
        main(["--path", str(folder), "--embedder", "none", *before, "panel", "--no-open", *after])
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_certificate_that_cannot_be_used_is_refused_before_the_panel_listens(folder, tmp_path, capsys):
    file = tmp_path / "x.pem"
    file.write_text("no certificate")
    tls = ["--tls-cert", str(file), "--tls-key", str(file), "--port", "0"]
    with pytest.raises(SystemExit):
        main(["--path", str(folder), "--embedder", "none", "panel", "--no-open", *tls])
    said = capsys.readouterr()
    assert "Give a certificate and its key in PEM." in " ".join(said.err.split())
    assert "http" not in said.out


def test_a_folder_without_a_memory_is_not_made_into_one(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--path", str(tmp_path / "no"), "panel", "--no-open"])
    assert "There is no memory" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
