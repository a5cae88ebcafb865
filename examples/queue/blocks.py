#!/usr/bin/env python3
"""A queue as the host of `noisewright block`: helpers on any machine take requests from it, and may come and go.

    blocks.py board   PORT                        holds the queue
    blocks.py helper  HOST:PORT MODEL DATA …      takes requests, as `noisewright block MODEL DATA …` answers them
    blocks.py ask     HOST:PORT …                 passes on the requests of `noisewright fit --worker-command`

Nothing but Python's standard library is needed. The key that the three know of one another is `NOISEWRIGHT_QUEUE_KEY`.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from multiprocessing.managers import BaseManager
from typing import Any, BinaryIO

#: Seconds after which a request that nobody has answered is put into the queue once more.
PATIENCE = float(os.environ.get("NOISEWRIGHT_QUEUE_PATIENCE", "60"))


class Board(BaseManager):
    """Requests that wait, and one queue of answers for everybody who asks."""


def _board(address: tuple[str, int]) -> Board:
    return Board(address, os.environ["NOISEWRIGHT_QUEUE_KEY"].encode())


def hold(port: int) -> None:
    """Holds the queues until it is ended."""
    requests: queue.Queue[Any] = queue.Queue()
    answers: dict[str, queue.Queue[Any]] = {}
    lock = threading.Lock()

    def answers_of(who: str) -> queue.Queue[Any]:
        with lock:
            return answers.setdefault(who, queue.Queue())

    Board.register("requests", callable=lambda: requests)
    Board.register("answers", callable=answers_of)
    server = _board(("", port)).get_server()
    print(server.address[1], flush=True)
    server.serve_forever()


def _connected(where: str) -> Any:
    for name in ("requests", "answers"):
        Board.register(name)
    host, port = where.rsplit(":", 1)
    board = _board((host, int(port)))
    board.connect()
    return board


def _message(stream: BinaryIO, lengths: str) -> bytes | None:
    """A line of JSON and the bytes after it, as many as the field `lengths` says; nothing at the end."""
    line = stream.readline()
    if not line:
        return None
    count = json.loads(line).get(lengths, 0)
    return line + stream.read(sum(count) if isinstance(count, list) else count)


def help_with(where: str, words: list[str]) -> None:
    """Answers requests by one `noisewright block` until the board is gone."""
    board = _connected(where)
    requests = board.requests()
    command = [os.environ.get("NOISEWRIGHT", "noisewright"), "block", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as block:
        assert block.stdin is not None and block.stdout is not None
        while True:
            try:
                who, number, request = requests.get()
            except (EOFError, ConnectionError):
                return
            block.stdin.write(request)
            block.stdin.flush()
            answer = _message(block.stdout, "bytes")
            if answer is None:
                raise SystemExit(block.wait())
            board.answers(who).put((number, answer))


def ask(where: str) -> None:
    """Passes requests on to whoever is free, and their answers back."""
    who = f"{os.uname().nodename}-{os.getpid()}"
    board = _connected(where)
    requests, answers = board.requests(), board.answers(who)
    number = 0
    while (request := _message(sys.stdin.buffer, "answers")) is not None:
        number += 1
        while True:
            requests.put((who, number, request))
            try:
                # A helper that was thought lost may answer late, and another one once more.
                while (found := answers.get(timeout=PATIENCE))[0] != number:
                    pass
                break
            except queue.Empty:
                continue
        sys.stdout.buffer.write(found[1])
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    role, place, *rest = sys.argv[1:]
    if role == "board":
        hold(int(place))
    elif role == "helper":
        help_with(place, rest)
    else:
        ask(place)
