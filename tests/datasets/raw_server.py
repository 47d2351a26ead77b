"""A real HTTP server on this machine that answers well, badly, slowly or not at all."""

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat


class RawServer:
    """Serves what stands in ``routes``: bytes, an answer, or a list of answers for one request after the other."""

    def __init__(self):
        self.routes = {}
        self.requests = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _next(self, path):
        with self._lock:
            self.requests.append(path)
            route = self.routes.get(path, status(404))
            if isinstance(route, list):
                route = route.pop(0) if len(route) > 1 else route[0]
        return whole(route) if isinstance(route, bytes) else route

    def _handler(server):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server._next(self.path)(self)

            def log_message(self, *args):
                pass

        return Handler


def whole(content, headers=()):
    """The content with its length."""

    def answer(request):
        _head(request, 200, {"Content-Length": len(content), **dict(headers)})
        request.wfile.write(content)

    return answer


def without_length(content):
    """The content, ended by closing the connection."""

    def answer(request):
        _head(request, 200, {})
        request.wfile.write(content)

    return answer


def truncated(content, missing=10):
    """The announced length is more than what is sent."""

    def answer(request):
        _head(request, 200, {"Content-Length": len(content) + missing})
        request.wfile.write(content)

    return answer


def status(code, headers=()):
    """An error."""

    def answer(request):
        _head(request, code, {"Content-Length": 0, **dict(headers)})

    return answer


def redirect(address):
    """Another address."""
    return status(302, {"Location": address})


def slow(content, pause, parts=None):
    """The content in parts, with a pause before each."""

    def answer(request):
        _head(request, 200, {"Content-Length": len(content)})
        step = max(1, len(content) // (parts or 1))
        for start, wait in zip(range(0, len(content), step), repeat(pause)):
            time.sleep(wait)
            try:
                request.wfile.write(content[start : start + step])
            except OSError:  # the client left
                return

    return answer


def _head(request, code, headers):
    request.send_response(code)
    for name, value in headers.items():
        request.send_header(name, str(value))
    request.end_headers()


def closed_address():
    """An address at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
