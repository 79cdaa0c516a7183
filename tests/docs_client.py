"""Run a module by the process that forks (`tests.docs_forks`): docs_client.py MODULE ARGUMENT...

As if Python ran it: with the files, folder, environment and exit code of this process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

NUMBER_BYTES = 8


def main() -> None:
    folder = os.getcwd()  # noqa: PTH109 - fast
    request = json.dumps([["-m", *sys.argv[1:]], folder, dict(os.environ), [0, 1, 2]]).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["CONTENTSPIDER_TESTS_FORKS"])
        socket.send_fds(connection, [len(request).to_bytes(NUMBER_BYTES, "big")], [0, 1, 2])
        connection.sendall(request)
        child = receive(connection)
        signal.signal(signal.SIGINT, lambda *_: os.kill(child, signal.SIGINT))
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        status = receive(connection)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


def receive(connection: socket.socket) -> int:
    received = connection.recv(NUMBER_BYTES, socket.MSG_WAITALL)
    if not received:
        sys.exit("the process that forks commands is gone")
    return int.from_bytes(received, "big")


if __name__ == "__main__":
    main()
