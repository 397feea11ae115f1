"""Queries of a Chroma server over connections of our own.

Chroma's client takes more than a millisecond of processor time for each, these a third of that. They need no thread
that waits for the client either, which itself would wait for ever.
"""

from __future__ import annotations

from typing import Any

import orjson

# More threads will hardly wait at the same time; of these, only the connections that are needed are made.
_MOST_KEPT = 256


class Queries:
    """Asks the server that a client of Chroma's is connected to, with its headers; thread-safe.

    As many connections are kept as threads waited for an answer at the same time.
    """

    def __init__(self, client: Any, *, timeout: float) -> None:
        import httpx
        import urllib3

        self._address = client._server.get_api_url()
        self._headers = {**client._server.get_request_headers(), "accept-encoding": "identity"}
        # It trusts whom the client trusts. Connections that the server closed meanwhile are replaced before a query.
        trusted = httpx.create_ssl_context() if self._address.startswith("https:") else None
        self._pool = urllib3.PoolManager(maxsize=_MOST_KEPT, timeout=timeout, retries=False, ssl_context=trusted)

    def ask(self, collection: Any, query: dict[str, Any]) -> dict[str, Any]:
        """The server's answer to a query of a collection.

        Raises:
            NotFoundError: it has no such collection.
            TimeoutError: it does not answer in time.
            HTTPError: it does not answer, or answers something else.
        """
        from urllib3.exceptions import HTTPError
        from urllib3.exceptions import TimeoutError as WaitedTooLong

        of = f"tenants/{collection.tenant}/databases/{collection.database}/collections/{collection.id}"
        body = orjson.dumps(query, option=orjson.OPT_SERIALIZE_NUMPY)
        try:
            answer = self._pool.request("POST", f"{self._address}/{of}/query", body=body, headers=self._headers)
        except WaitedTooLong as error:
            raise TimeoutError from error
        if answer.status == 404:
            from chromadb.errors import NotFoundError

            raise NotFoundError(_beginning(answer.data))
        if answer.status != 200:
            raise HTTPError(f"{answer.status}: {_beginning(answer.data)}")
        return orjson.loads(answer.data)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the connections that nobody uses at this moment."""
        self._pool.clear()


def _beginning(answer: bytes) -> str:
    return answer[:200].decode(errors="replace")
