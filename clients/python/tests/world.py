"""What the tests run against: a service that counts its effects, a gateway in front of it, and a proxy that cuts connections."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pathlib
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, BinaryIO, List, Mapping, Optional, TextIO, Tuple, cast

ROOT = pathlib.Path(__file__).resolve().parents[3]
VECTORS = ROOT / "testdata" / "vectors"

RULES = """
version: 1
routes:
  - name: orders
    match: {methods: [POST], path: /orders}
    required: true
    on_5xx: release
    scope: [{constant: all callers}]
  - name: payments
    match: {methods: [POST], path: /payments}
    required: true
    preset: payments
    scope: [{constant: all callers}]
    unknown:
      reconcile: {get: "/by-key/{key}", happened_when: {status: 200}, absent_after: 1s, replay: {status: 201, location: "/payments/{answer:/effect}"}}
"""


class Service(ThreadingHTTPServer):
    """Every POST has an effect, unless it is refused. faults says what happens to the next ones, in order."""

    daemon_threads = True

    def __init__(self, test: unittest.TestCase, tls: Optional[ssl.SSLContext] = None) -> None:
        super().__init__(("127.0.0.1", 0), _ServiceHandler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.accepted = 0  # connections
        self.lock = threading.Lock()  # guards the fields below
        self.effects: List[str] = []  # the key of each
        self.keys: List[int] = []  # how many keys each POST has
        self.targets: List[str] = []  # what each POST asks for
        self.faults: List[str] = []
        self.arrived, self.go_on = threading.Event(), threading.Event()  # of a request that is held
        _serve(self, test)

    @property
    def address(self) -> str:
        return "127.0.0.1:%d" % self.server_address[1]


    def get_request(self) -> Tuple[socket.socket, Any]:
        self.accepted += 1
        return super().get_request()


def certificate(test: unittest.TestCase) -> Tuple[ssl.SSLContext, Tuple[str, str]]:
    """Makes a certificate that no client trusts, and returns it with its files: the certificate and its key."""
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    files = [f"{folder.name}/key.pem", f"{folder.name}/cert.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*command, "-keyout", files[0], "-out", files[1]], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[1], files[0])
    return context, (files[1], files[0])


class _ServiceHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_GET(self) -> None:
        key = self.path.rpartition("/")[2]
        with self.server.lock:
            found = self.server.effects.index(key) + 1 if key in self.server.effects else 0
        self._answer(200 if found else 404, {"effect": found})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.keys.append(len(self.headers.get_all("Idempotency-Key", [])))
            self.server.targets.append(self.path)
            fault = self.server.faults.pop(0) if self.server.faults else ""
            if fault != "refuse":
                self.server.effects.append((self.headers["Idempotency-Key"] or "").strip('"'))
            effect = len(self.server.effects)
        if fault == "refuse":
            return self._answer(503, {"refused": True})
        if fault == "hold":
            self.server.arrived.set()
            self.server.go_on.wait(60)
        if fault == "redirect":
            return self._answer(303, {}, {"Location": "/nowhere"})
        if fault == "endless":
            return self._endless_problem()
        if fault == "packed":
            problem = gzip.compress(b'{"type": "urn:semel:problem:in-flight"}')
            return self._answer(409, problem, {"Content-Type": "application/problem+json", "Content-Encoding": "gzip"})
        if fault == "lose":
            self.close_connection = True
            return None
        self._answer(201, {"effect": effect}, cut=fault == "die")

    def _answer(self, status: int, body: Any, headers: Mapping[str, str] = {}, cut: bool = False) -> None:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        with contextlib.suppress(ConnectionError):  # of a gateway that was killed
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text[: len(text) // 2] if cut else text)
        if cut:
            self.close_connection = True

    def _endless_problem(self) -> None:
        self.close_connection = True
        with contextlib.suppress(ConnectionError):  # of a client that has read enough
            self.send_response(409)
            self.send_header("Content-Type", "application/problem+json")
            self.end_headers()
            while True:
                self.wfile.write(b" " * 65536)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Proxy(socketserver.ThreadingTCPServer):
    """Passes exchanges on. cuts says where the next ones break: in the "request", before the "answer" or in its "body".

    To a client that asks for absolute addresses or tunnels it is a proxy for which every name is the upstream; "refuse" among the
    cuts refuses a tunnel.
    """

    daemon_threads = True

    def __init__(self, test: unittest.TestCase, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _ProxyHandler)
        self.upstream = upstream.rpartition(":")
        self.cuts: List[str] = []
        self.exchanges = 0
        self.asked: List[str] = []  # the absolute address or the tunnel of each exchange
        _serve(self, test)

    @property
    def address(self) -> str:
        return "127.0.0.1:%d" % self.server_address[1]


class _ProxyHandler(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        host, _, port = self.server.upstream
        with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as upstream, upstream.makefile("rb") as back:
            while True:
                head, body = _message(self.rfile)
                if not head:
                    return
                method, target, _ = head.split(b" ", 2)
                self.server.exchanges += 1
                cut = self.server.cuts.pop(0) if self.server.cuts else ""
                if not target.startswith(b"/"):
                    self.server.asked.append(target.decode())
                if method == b"CONNECT" and cut == "refuse":
                    self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                    return
                if method == b"CONNECT":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    return self.tunnel(upstream)
                if cut == "request":
                    upstream.sendall(head + body[: len(body) // 2])
                    return
                upstream.sendall(head + body)
                head, body = _message(back)
                if cut == "answer" or not head:
                    return
                self.wfile.write(head + (body[: len(body) // 2] if cut == "body" else body))
                if cut == "body":
                    return


    def tunnel(self, upstream: socket.socket) -> None:
        answers = threading.Thread(target=_pump, args=(upstream, self.connection))
        answers.start()
        _pump(self.connection, upstream)
        answers.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Copies from source to target, the end of the stream included."""
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _message(stream: BinaryIO) -> Tuple[bytes, bytes]:
    """Reads a request or an answer whose length is known."""
    head, length = b"", 0
    for line in stream:
        head += line
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
        if line == b"\r\n":
            return head, stream.read(length)
    return b"", b""


class Gateway:
    """A semel gateway in front of a service. It can be killed, and started again at the same address with the same store."""

    def __init__(self, test: unittest.TestCase, service: Service) -> None:
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self._service, self._folder = service, pathlib.Path(folder.name)
        (self._folder / "rules.yaml").write_text(RULES)
        self.address = "127.0.0.1:0"
        self.start()
        test.addCleanup(self.kill)

    def start(self) -> None:
        arguments = ["--upstream", f"http://{self._service.address}", "--listen", self.address, "--admin", "off", "--lease", "1s"]
        arguments += ["--rules", str(self._folder / "rules.yaml"), "--store", f"sqlite:{self._folder}/semel.db"]
        # setpriv: the gateway ends with the test, even when that is killed.
        command = ["setpriv", "--pdeathsig", "KILL", os.environ["SEMEL_TEST_BINARY"], "gateway", *arguments]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self._said = cast(TextIO, self._process.stderr)
        log = []
        for line in self._said:
            log.append(line)
            if '"gateway is ready"' in line:
                self.address = json.loads(line)["listen"].partition("//")[2]
                break
        else:
            raise AssertionError("the gateway did not start:\n" + "".join(log))
        self._reader = threading.Thread(target=self._said.read)
        self._reader.start()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._said.close()


def _serve(server: socketserver.BaseServer, test: unittest.TestCase) -> None:
    """Serves until the end of the test."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()

    def end() -> None:
        server.shutdown()
        thread.join()
        server.server_close()

    test.addCleanup(end)
