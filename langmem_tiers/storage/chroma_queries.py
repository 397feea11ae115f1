"""Queries of a Chroma server over connections of our own.

Chroma's client takes more than a millisecond of processor time for each, these a third of that. They need no thread
that waits for the client either, which itself would wait for ever.
"""

from __future__ import annotations

from collections import deque
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import orjson


class Queries:
    """Connections to the server that a client of Chroma's is connected to, with its headers; thread-safe.

    There is one for each thread that waits for an answer at the same time.
    """

    def __init__(self, client: Any, *, timeout: float) -> None:
        self._address = urlsplit(client._server.get_api_url())
        self._headers = {**client._server.get_request_headers(), "accept-encoding": "identity"}
        self._timeout = timeout
        self._kept: deque[HTTPConnection] = deque()

    def ask(self, collection: Any, query: dict[str, Any]) -> dict[str, Any]:
        """The server's answer to a query of a collection.

        Raises:
            NotFoundError: it has no such collection.
            OSError: it does not answer, or not in time (TimeoutError).
            HTTPException: it answers something else.
        """
        where = f"tenants/{collection.tenant}/databases/{collection.database}/collections/{collection.id}/query"
        body = orjson.dumps(query, option=orjson.OPT_SERIALIZE_NUMPY)
        try:
            status, answer = self._posted(self._kept.pop(), where, body)
        except (IndexError, ConnectionError):  # the server closes connections that nobody uses
            status, answer = self._posted(self._new(), where, body)
        if status == 404:
            from chromadb.errors import NotFoundError

            raise NotFoundError(answer[:200].decode(errors="replace"))
        if status != 200:
            raise HTTPException(f"{status}: {answer[:200].decode(errors='replace')}")
        return orjson.loads(answer)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the connections that nobody uses at this moment."""
        while self._kept:
            self._kept.pop().close()

    def _new(self) -> HTTPConnection:
        host, port = str(self._address.hostname), self._address.port
        if self._address.scheme == "http":
            return HTTPConnection(host, port, timeout=self._timeout)
        import httpx

        # It trusts whom the client trusts.
        return HTTPSConnection(host, port, timeout=self._timeout, context=httpx.create_ssl_context())

    def _posted(self, connection: HTTPConnection, where: str, body: bytes) -> tuple[int, bytes]:
        try:
            connection.request("POST", f"{self._address.path}/{where}", body, self._headers)
            response = connection.getresponse()
            answer = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        self._kept.append(connection)
        return answer
