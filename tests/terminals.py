"""A real terminal for commands: a pseudo-terminal of a given width, and what was written to it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

# What this program may tell a terminal: colours, and the spinner's moves.
_OWN = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AGKJ])")


class Terminal:
    """A command that runs in a terminal of so many columns."""

    def __init__(self, command, *, columns, environment):
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {**environment, "TERM": "xterm-256color"}
        environment.pop("COLUMNS", None)
        self._process = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=environment, start_new_session=True
        )
        os.close(child)
        self._parent, self.output = parent, ""

    def read_until(self, text=None, *, seconds=60):
        """Read until this was written, or to the end; what was written so far."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and (text is None or text not in self.output):
            if select.select([self._parent], [], [], 0.2)[0]:
                try:
                    data = os.read(self._parent, 65536)
                except OSError:  # the other end is closed
                    break
                if not data:
                    break
                self.output += data.decode("utf-8", "replace").replace("\r\n", "\n")
        if text is not None:
            assert text in self.output, self.output
        return self.output

    def write(self, text):
        os.write(self._parent, text.encode())

    def interrupt(self):
        os.killpg(self._process.pid, signal.SIGINT)

    def finish(self):
        """Read to the end; the exit code."""
        self.read_until()
        code = self._process.wait(30)
        os.close(self._parent)
        return code


def in_terminal(command, *, columns, environment):
    """Run a command to its end in a terminal: exit code, and the lines without its own colours."""
    terminal = Terminal(command, columns=columns, environment=environment)
    code = terminal.finish()
    return code, _OWN.sub("", terminal.output)
