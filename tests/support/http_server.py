"""A server on the loopback that answers what a test says."""

from __future__ import annotations

import contextlib
import socket
import threading


class Server:
    """Answers every connection on the loopback with what `reply` writes; keeps what it was asked."""

    def __init__(self, reply):
        self.reply = reply
        self.asked = []
        self.over = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(0.05)
        self.port = self.listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self):
        while not self.over.is_set():
            try:
                line, _ = self.listening.accept()
            except TimeoutError:
                continue
            one = threading.Thread(target=self.answer, args=(line,))
            self.threads.append(one)
            one.start()

    def answer(self, line):
        with line, contextlib.suppress(OSError):
            line.settimeout(5)
            data = b""
            while b"\r\n\r\n" not in data and data[:1] != b"\x16":  # 16: a TLS hello
                piece = line.recv(65536)
                if not piece:
                    break
                data += piece
            self.asked.append(data.decode("latin-1"))
            self.reply(line, self.asked[-1], self)

    def close(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.listening.close()


def answer(status=200, body="ok", **headers):
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body.encode())}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join([*lines, "", ""]) + body).encode()
