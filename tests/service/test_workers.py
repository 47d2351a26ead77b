"""Several processes behind one port: any of them answers any case, and all hear a signal."""

import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import killing
import pytest
from servers import until

import etana
from etana.modelfile import read_metadata


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def own(request, tmp_path_factory, folder, start_server):
    """A server of two processes, on each store, with a model that may be replaced."""
    models = tmp_path_factory.mktemp("models")
    shutil.copy(folder / "wine.etana", models)
    store = "cases.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres").database()
    server = start_server(models, "--workers", 2, "--store", store)
    server.models = models
    return server


def workers_of(server):
    return [pid for pid in killing.processes_of(server.process.pid) if pid != server.process.pid]


def samples(server, name):
    """The values of a metric by worker."""
    with server.client() as client:
        lines = [n for n in client.get("/metrics").text.splitlines() if n.startswith(name + "{")]
    return {line.split('worker="')[1].split('"')[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_any_process_answers_any_case(own):
    """Each request has a connection of its own, so that both processes get some of them."""

    def request(method, path, **options):
        with own.client() as client:
            return client.request(method, path, **options)

    for _ in range(8):
        started = request("POST", "/v1/cases", json={})
        assert started.status_code == 201, started.text + own.log
        case = started.json()
        while case["question"] is not None:
            body = {"feature": case["question"]["name"], "value": 1.0, "revision": case["revision"]}
            answered = request("POST", f"/v1/cases/{case['id']}/observations", json=body)
            assert answered.status_code == 200
            case = answered.json()
            assert request("GET", f"/v1/cases/{case['id']}").json() == case
        assert request("DELETE", f"/v1/cases/{case['id']}").status_code == 204
        assert request("GET", f"/v1/cases/{case['id']}").status_code == 404
    until(lambda: len(samples(own, "process_start_time_seconds")) == 2)
    worked = samples(own, "process_cpu_seconds_total")
    assert len(worked) == 2
    # What the other process has counted is shown a second later.
    until(lambda: samples(own, "etana_requests_total").keys() == {"0", "1"})
    with own.client() as client:
        assert client.get("/metrics").text.count("# TYPE etana_requests_total") == 1


def test_of_answers_at_once_one_is_taken_whoever_gets_them(own):
    with own.client() as client:
        for _ in range(5):
            case = client.post("/v1/cases", json={}).json()
            body = {"feature": case["question"]["name"], "value": 1.0, "revision": 0}

            def answer(_, url=f"/v1/cases/{case['id']}/observations", body=body):
                with own.client() as another:
                    return another.post(url, json=body).status_code

            with ThreadPoolExecutor(6) as pool:
                assert sorted(pool.map(answer, range(6))) == [200] + [409] * 5


def test_models_reload_on_all(own, data):
    path = own.models / "wine.etana"
    etana.save(etana.ETANAClassifier(feature_costs=0.1, ordering="error", temperature=1.0).fit(*data["wine"]), path)
    new = read_metadata(path)["sha256"]
    own.signal(signal.SIGHUP)

    def everywhere():
        with own.client() as client:
            lines = [n for n in client.get("/metrics").text.splitlines() if n.startswith("etana_model_loaded_seconds{")]
        return len(lines) == 2 and all(new in line for line in lines)

    until(everywhere)
    for _ in range(10):
        with own.client() as client:
            assert client.get("/v1/model").json()["digest"] == new


def test_a_process_that_dies_is_started_again(own):
    before = workers_of(own)
    os.kill(before[0], signal.SIGKILL)
    until(lambda: len(workers_of(own)) == 2 and before[0] not in workers_of(own), 60)
    until(lambda: len(set(workers_of(own)) & set(before)) == 1)
    for _ in range(10):
        with own.client() as client:
            until(lambda c=client: c.get("/health/ready").status_code == 200)
    assert "worker 0 ended" in own.log or "worker 1 ended" in own.log


def test_all_end_with_the_first(folder, start_server):
    server = start_server(folder / "wine.etana", "--workers", 2)
    workers = workers_of(server)
    assert len(workers) == 2
    server.kill()  # as if the machine had run out of memory

    def gone():
        return not any(os.path.exists(f"/proc/{pid}") and _runs(pid) for pid in workers)

    until(gone)


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_workers_and_ports_are_checked_first(own, folder, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from etana.cli import app

    monkeypatch.chdir(tmp_path)
    for arguments, said in (
        (["--workers", "0"], "workers is 0"),
        (["--workers", "2", "--store", ":memory:"], "cannot share a store in memory"),
        (["--workers", "2", "--port", str(own.port)], f"port {own.port}"),
        (["--workers", "2", "--store", "postgresql://x@127.0.0.1:1/x"], "cannot hold the cases"),
        (["--root-path", "x y"], "root path"),
        (["--log", "xml"], "text or json"),
        (["--proxy", "nginx"], "no address or network"),
    ):
        done = CliRunner().invoke(app, ["serve", str(folder / "wine.etana"), "--port", "0", *arguments])
        assert done.exit_code == 3, done.output
        assert said in done.stderr
