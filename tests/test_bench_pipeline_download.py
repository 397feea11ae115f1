"""Fetching the official files: from a server on this machine, taken up where it stopped, and checked."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from bench_sets import LONGMEMEVAL

from langmem_tiers.bench.pipeline.download import SOURCES, OfficialFile, download
from langmem_tiers.cli.main import main
from langmem_tiers.errors import DownloadFailed, InvalidInput, StorageError

CONTENT = json.dumps(LONGMEMEVAL).encode()
HASH = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Has one file; `ranges` says whether it gives parts, `sends` how many bytes it gives before it hangs up."""

    ranges, sends, asked_for = True, None, ()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        told = self.headers.get("Range")
        self.server.asked_for += (told,)
        start = int(told.removeprefix("bytes=").rstrip("-")) if told and self.server.ranges else 0
        if not self.path.endswith(("/file.json", "/longmemeval_oracle.json")):
            return self.send_error(404)
        if start >= len(CONTENT):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : self.server.sends])
        return None

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


@pytest.fixture
def source(server):
    return OfficialFile(name="file.json", folder=address(server), size=len(CONTENT), sha256=HASH)


def address(server):
    return f"http://127.0.0.1:{server.server_port}/main"


def test_a_file_is_fetched_and_what_it_is_noted(source, tmp_path):
    told = []
    done = download(source, tmp_path, on_progress=lambda got, total: told.append((got, total)))
    assert (done.path.read_bytes(), done.fetched) == (CONTENT, True)
    assert (told[0], told[-1]) == ((0, len(CONTENT)), (len(CONTENT), len(CONTENT)))
    noted = json.loads((tmp_path / "download.json").read_text())["file.json"]
    assert (noted["sha256"], noted["bytes"]) == (HASH, len(CONTENT))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["download.json", "file.json"]


def test_a_part_is_gone_on_with(source, server, tmp_path):
    (tmp_path / "file.json.part").write_bytes(CONTENT[:100])
    assert download(source, tmp_path).path.read_bytes() == CONTENT
    assert server.asked_for == ("bytes=100-",)


def test_a_server_that_gives_no_parts_gives_the_whole(source, server, tmp_path):
    server.ranges = False
    (tmp_path / "file.json.part").write_bytes(b"x" * 100)
    assert download(source, tmp_path).path.read_bytes() == CONTENT


def test_a_connection_that_breaks_leaves_a_part_for_the_next_time(source, server, tmp_path):
    server.sends = 300
    with pytest.raises(DownloadFailed, match=f"after 300 of {len(CONTENT):,} bytes"):
        download(source, tmp_path)
    server.sends = None
    assert download(source, tmp_path).path.read_bytes() == CONTENT
    assert server.asked_for == (None, "bytes=300-")


def test_a_whole_part_needs_no_server(source, server, tmp_path):
    (tmp_path / "file.json.part").write_bytes(CONTENT)
    assert download(source, tmp_path).fetched
    assert server.asked_for == ()


def test_a_whole_part_of_unknown_size_is_found_to_be_whole(source, tmp_path):
    (tmp_path / "file.json.part").write_bytes(CONTENT)
    other = OfficialFile(name=source.name, folder=source.folder, size=1, sha256="0" * 64)
    assert download(other, tmp_path, sha256=HASH).path.read_bytes() == CONTENT


def test_a_file_of_another_hash_is_not_kept(source, tmp_path):
    with pytest.raises(DownloadFailed, match=f"is {HASH}, not 0000") as refused:
        download(source, tmp_path, sha256="0" * 64)
    assert "--sha256" in refused.value.way_out
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_fetched_again(source, server, tmp_path):
    download(source, tmp_path)
    assert download(source, tmp_path).fetched is False
    assert len(server.asked_for) == 1


def test_another_file_of_the_name_is_left_alone(source, tmp_path):
    (tmp_path / "file.json").write_text("mine")
    with pytest.raises(DownloadFailed, match="Move it away"):
        download(source, tmp_path)
    assert (tmp_path / "file.json").read_text() == "mine"


def test_a_file_that_is_nowhere_names_the_ways_out(server, tmp_path):
    source = OfficialFile(name="gone.json", folder=address(server), size=1, sha256=HASH)
    with pytest.raises(DownloadFailed, match="404") as refused:
        download(source, tmp_path)
    assert "--url" in refused.value.way_out
    assert "--data" in refused.value.way_out


def test_no_network_names_the_way_out(source, tmp_path):
    with pytest.raises(DownloadFailed, match="cannot be reached") as refused:
        download(source, tmp_path, url="http://127.0.0.1:9/nobody")
    assert "--data" in refused.value.way_out


def test_a_part_that_can_not_be_written_is_an_error_of_storage(source, tmp_path):
    (tmp_path / "file.json.part").mkdir()
    with pytest.raises(StorageError, match="part"):
        download(source, tmp_path)


@pytest.mark.parametrize("wrong", [{"url": "file:///etc"}, {"url": ""}, {"sha256": "abc"}])
def test_what_can_not_be_an_address_or_a_hash_is_refused(tmp_path, wrong):
    source = OfficialFile(name="file.json", folder="nowhere", size=1, sha256=HASH)
    with pytest.raises(InvalidInput):
        download(source, tmp_path, **wrong)


def test_the_command_fetches_what_the_next_one_uses(server, tmp_path, capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["bench", "longmemeval", *arguments, "--runs", str(tmp_path / "runs")])
        return left.value.code or 0, capsys.readouterr()

    fetch = ["download", "--file", "oracle", "--url", address(server), "--sha256", HASH]
    code, told = run(*fetch)
    assert (code, HASH in told.out) == (0, True)
    assert "Next: langmem-tiers bench longmemeval ingest --runs" in told.out
    assert "--file oracle" in told.out
    assert json.loads(run(*fetch, "--json")[1].out)["download"]["fetched"] is False
    assert run("smoke", "--keyword-only")[0] == 0


def test_the_official_files_are_known_by_size_and_hash():
    files = [source for files in SOURCES.values() for source in files.values()]
    assert [source.name for source in files if len(source.sha256) != 64 or source.size < 1_000_000] == []
    assert len({source.sha256 for source in files}) == 4
