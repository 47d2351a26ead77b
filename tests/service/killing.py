"""Clients that change cases while the server is killed, and what must be true afterwards.

Each client works on cases of its own and notes what was acknowledged. After a restart, every acknowledged change is
there, every acknowledged deletion has stayed one, and every open case goes on.
"""

import contextlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

VALUES = (100.0, None, 0.1)
REFUSED = 503


class Notes:
    """What was acknowledged, and how many changes that were."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cases: dict[str, dict] = {}
        self.deleted: set[str] = set()
        self.leaving: set[str] = set()
        self.changes = 0

    def keep(self, case):
        with self.lock:
            self.cases[case["id"]] = case
            self.changes += 1

    def leave(self, id):
        """It may be gone from now on."""
        with self.lock:
            self.leaving.add(id)

    def delete(self, id):
        with self.lock:
            self.deleted.add(id)
            del self.cases[id]
            self.changes += 1


def change(client, notes, number):
    """One case with some answers; every third is deleted again."""
    started = client.post("/v1/cases", json={})
    if started.status_code == REFUSED:
        return
    case = started.json()
    notes.keep(case)
    for value in VALUES:
        if case["question"] is None:
            break
        body = {"feature": case["question"]["name"], "value": value, "revision": case["revision"]}
        answered = client.post(f"/v1/cases/{case['id']}/observations", json=body)
        if answered.status_code != 200:
            assert answered.status_code in (REFUSED, 409), answered.text
            return
        case = answered.json()
        notes.keep(case)
    if number % 3 == 0:
        notes.leave(case["id"])
        if client.delete(f"/v1/cases/{case['id']}").status_code == 204:
            notes.delete(case["id"])


def processes_of(pid):
    """A process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += processes_of(int(child))
    return found


def kill_all(server):
    """kill -9 for the server and its workers, at once."""
    pids = processes_of(server.process.pid)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()


def change_and_kill(server, notes, changes, clients=8):
    """Change cases until so many changes more are acknowledged; then kill, in the middle of it."""
    target, killed = notes.changes + changes, threading.Event()

    def work(number):
        with server.client() as client, contextlib.suppress(httpx.TransportError):
            while not killed.is_set():
                change(client, notes, number)
                number += 1
                if notes.changes >= target and not killed.is_set():
                    killed.set()
                    kill_all(server)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, range(clients)))
    if not killed.is_set():
        kill_all(server)


def check(server, notes):
    """Nothing acknowledged is lost, nothing deleted returns."""
    with server.client() as client:
        for id in notes.deleted:
            assert client.get(f"/v1/cases/{id}").status_code == 404
        for id, case in notes.cases.items():
            response = client.get(f"/v1/cases/{id}")
            if response.status_code == 404:
                assert id in notes.leaving, "an acknowledged case is lost"
                continue
            now = response.json()
            # An answer that was stored, but whose acknowledgement was lost with the process, may be there too.
            assert now["revision"] - case["revision"] in (0, 1)
            assert now["history"][: len(case["history"])] == case["history"]
            if now["revision"] == case["revision"]:
                assert now == case
        for id in list(notes.cases)[:20]:
            now = client.get(f"/v1/cases/{id}").json()
            if now.get("question"):
                body = {"feature": now["question"]["name"], "value": 0.5, "revision": now["revision"]}
                assert client.post(f"/v1/cases/{id}/observations", json=body).status_code == 200
                notes.cases[id] = client.get(f"/v1/cases/{id}").json()
