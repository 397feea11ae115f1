"""Keeps a Python process off the network, this machine's own addresses excepted.

`conftest.py` imports it for the tests themselves; processes that tests start get this folder in PYTHONPATH.
"""

import sys

_HOST_AT = {"socket.connect": 1, "socket.getaddrinfo": 0}
_LOCAL = {"127.0.0.1", "::1", "localhost", None, ""}


def _stay_local(event, arguments):
    if event not in _HOST_AT:
        return
    address = arguments[_HOST_AT[event]]
    host = address[0] if isinstance(address, tuple) else address
    is_path = event == "socket.connect" and not isinstance(address, tuple)
    if not is_path and host not in _LOCAL:
        raise ConnectionError(f"the network is off in tests, and something wanted {host}")


sys.addaudithook(_stay_local)
