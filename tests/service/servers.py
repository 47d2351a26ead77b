"""Real servers for the tests: the installed program in a process of its own, on a free port."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

# Without proxies, and without certificates, which take a client longer to read than anything here takes.
DIRECT = {"timeout": 60, "trust_env": False, "verify": False}

_LINE = re.compile(r"serving .* on (http://[\w.:\[\]]+)")


class Server:
    """``etana serve`` in a process; its log is a file in the folder."""

    def __init__(self, folder: Path, *arguments: object, token: str | None = None, port: int = 0) -> None:
        self.folder, self.arguments, self.token, self.port = folder, arguments, token, port
        self.log_file = folder / "server.log"
        self.start()

    def start(self) -> "Server":
        command = [sys.executable, "-m", "etana.cli", "serve", "--port", str(self.port)]
        if "--store" not in self.arguments:
            command += ["--store", "cases.sqlite"]
        environment = {k: v for k, v in os.environ.items() if k != "ETANA_TOKEN"}
        environment |= {"ETANA_TOKEN": self.token} if self.token else {}
        with open(self.log_file, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(
                [*command, *map(str, self.arguments)], cwd=self.folder, stderr=log, stdout=log, env=environment
            )
        self.url = self._wait_for_line(begin)
        self.port = int(self.url.rpartition(":")[2])
        with self.client() as client:
            until(lambda: client.get("/health/live").status_code == 200)
        return self

    def _wait_for_line(self, begin: int) -> str:
        deadline = time.monotonic() + 240  # kernels may have to be compiled first, on a busy machine
        while time.monotonic() < deadline:
            found = _LINE.search(self.log_file.read_bytes()[begin:].decode())
            if found:
                return found[1]
            assert self.process.poll() is None, self.log
            time.sleep(0.05)
        raise AssertionError(f"the server does not start: {self.log}")

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    @property
    def memory(self) -> int:
        """Largest resident memory so far, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def client(self, **options) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=self.url, headers=headers, **DIRECT, **options)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """As kill -9 does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def until(condition, seconds: float = 30.0) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, f"did not come true within {seconds} s"
        time.sleep(0.05)


class InProcess(httpx.BaseTransport):
    """Requests to an application in this process: its loop runs in a thread of its own."""

    def __init__(self, app) -> None:
        self._inner = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._life = app.router.lifespan_context(app)
        self._run(self._life.__aenter__())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._run(self._respond(request))

    def close(self) -> None:
        self._run(self._life.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        request.stream = httpx.ByteStream(request.read())
        response = await self._inner.handle_async_request(request)
        content = b"".join([part async for part in response.stream])
        return httpx.Response(response.status_code, headers=response.headers, content=content)


def in_process(app) -> httpx.Client:
    """A client that talks to an application in this process, without sockets."""
    return httpx.Client(transport=InProcess(app), base_url="http://localhost")
