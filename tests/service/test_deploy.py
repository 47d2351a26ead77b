"""Ready to run: what the container does, done here as another user on a tree that cannot be written."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import databases
import httpx
import numba
import pytest
from servers import until
from typer.testing import CliRunner

from etana.cli import app
from etana.errors import InputError
from etana.kernels._loops import SHIPPED
from etana.service.backup import audit_lines, back_up, restore
from etana.service.limits import Limits
from etana.service.store import Record, Store

ROOT = Path(__file__).parents[2]
NOBODY = 65534


# --- backup and restore


@pytest.fixture
def filled(where):
    """A store with a hundred cases, some of them changed or gone."""
    store = Store(where, 1000.0, 1000)
    store.secret()
    cases = [store.add(Record.new("wine", "ab", 0.5, "open")) for _ in range(100)]
    cases[:10] = [store.change(case, (1.5, None, "é"), "decided") for case in cases[:10]]
    for case in cases[90:]:
        store.remove(case.id)
    yield store, cases[:90]
    store.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def elsewhere(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "restored.sqlite")
    return request.getfixturevalue("postgres").database()


def test_a_backup_comes_back_in_either_store(filled, elsewhere, tmp_path):
    store, cases = filled
    path = str(tmp_path / "backup.jsonl")
    assert back_up(store.path, path) == 90  # while the store is open
    assert os.stat(path).st_mode & 0o077 == 0
    assert restore(path, elsewhere) == 90
    again = Store(elsewhere, 1000.0, 1000)
    assert [again.get(case.id) for case in cases] == cases
    assert again.secret() == store.secret()  # pages that are open stay good
    assert again.audit() == store.audit()
    again.add(Record.new("wine", "ab", None, "open"))  # the trail goes on where it was
    assert again.audit()[-1].number == len(store.audit()) + 1
    again.close()
    assert "".join(audit_lines(elsewhere)).count("\n") == len(store.audit()) + 1
    with pytest.raises(InputError, match="restore into an empty store"):
        restore(path, elsewhere)


def test_a_backup_that_is_cut_short_or_foreign_is_refused(filled, tmp_path):
    path = tmp_path / "backup.jsonl"
    back_up(filled[0].path, str(path))
    whole = path.read_text().splitlines(keepends=True)
    for text in ("".join(whole[:-1]), "".join(whole[:5] + whole[6:]), "".join(whole)[:-20], "", "x", '{"a": 1}\n'):
        path.write_text(text)
        with pytest.raises(InputError, match="backup"):
            restore(str(path), str(tmp_path / "new.sqlite"))
    assert not (tmp_path / "new.sqlite").exists()


def test_backups_on_the_command_line(tmp_path):
    store = Store(tmp_path / "c.sqlite", 100.0, 10)
    store.add(Record.new("wine", "ab", None, "open"))
    store.close()
    run = CliRunner()
    names = [str(tmp_path / n) for n in ("c.sqlite", "b.jsonl", "d.sqlite", "nowhere.sqlite")]
    assert run.invoke(app, ["store", "backup", *names[:2]]).exit_code == 0
    assert run.invoke(app, ["store", "restore", *names[1:3]]).exit_code == 0
    assert '"action": "start"' in run.invoke(app, ["store", "audit", names[2]]).stdout
    missing = run.invoke(app, ["store", "backup", names[3], names[1]])
    assert (missing.exit_code, "does not exist" in missing.stderr) == (3, True)
    assert not os.path.exists(names[3])


# --- the container, as far as it goes without one


def interpreter(folders):
    """A Python that another user can run, with what the package needs; None if there is none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    environment = {"PYTHONPATH": os.pathsep.join(folders), "PATH": "/usr/bin:/bin"}
    for program in (os.path.realpath(sys.executable), f"/usr/bin/{version}"):
        command = [program, "-c", "import numba, sklearn, fastapi, uvicorn, typer"]
        try:
            done = subprocess.run(command, env=environment, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
        except OSError:
            continue
        if done.returncode == 0:
            return program
    return None


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """What the image holds: the package with compiled loops, models; nothing of it can be written."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a process as another user")
    libraries = str(Path(numba.__file__).parents[1])
    python = interpreter([libraries])
    if python is None:
        pytest.skip("no Python that another user can run has the packages")
    home = tmp_path_factory.mktemp("image")
    skipped = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(ROOT / "src" / "etana", home / "site" / "etana", ignore=skipped)
    (home / "bin").mkdir()
    script = home / "bin" / "etana"
    script.write_text(f'#!/bin/sh\nexec {python} -m etana.cli "$@"\n')
    path = os.pathsep.join([str(home / "site"), libraries])
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    shipped = home / "site" / "etana" / "kernels" / SHIPPED  # as pip fills it when it builds the wheel
    subprocess.run([python, "-m", "etana.ahead", shipped], env=environment, check=True, timeout=900)
    environment["NUMBA_CACHE_DIR"] = str(tmp_path_factory.mktemp("others"))
    subprocess.run([python, "-m", "etana.service.demo", home / "models"], env=environment, check=True, timeout=300)
    for made in (home, *home.rglob("*")):
        made.chmod(0o555 if made.is_dir() or made.parent.name == "bin" else 0o444)
    for above in home.parents[:2]:
        above.chmod(0o755)
    return home, path


def tmp_of_nobody(tmp_path_factory):
    own = tmp_path_factory.mktemp("state")
    os.chown(own, NOBODY, NOBODY)
    return own


@pytest.mark.slow
def test_the_image_runs_as_nobody_on_a_tree_that_cannot_be_written(image, tmp_path_factory):
    """The commands of the Containerfile, with its settings and its health check."""
    (image, path), container = image, (ROOT / "Containerfile").read_text()
    arguments = json.loads(re.search(r"^CMD (\[.*\])", container, re.M)[1])
    assert arguments[:2] == ["serve", "/models"]
    state, port = tmp_of_nobody(tmp_path_factory), databases.free_port()
    arguments = [a.replace("/models", str(image / "models")).replace("0.0.0.0", "127.0.0.1") for a in arguments]
    environment = {
        "PATH": f"{image / 'bin'}:/usr/bin:/bin", "HOME": str(state), "TMPDIR": str(state),
        "ETANA_STORE": str(state / "cases.sqlite"),
        "ETANA_TOKEN": "correct-horse", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    before = sorted((str(p), p.stat().st_mtime_ns) for p in image.rglob("*"))
    with open(state / "log", "wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(
            [image / "bin" / "etana", *arguments, "--port", str(port)], cwd=state, env=environment, user=NOBODY,
            group=NOBODY, extra_groups=[], stdout=log, stderr=log,
        )  # fmt: skip
    try:
        check = re.search(r"urlopen\('(.*?)'", container)[1].replace("8000", str(port))

        def ready():
            assert process.poll() is None, (state / "log").read_text()
            try:
                with urllib.request.urlopen(check, timeout=4) as answer:
                    return answer.status == 200
            except OSError:
                return False

        until(ready, 120)
        started = time.monotonic() - began
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            client.headers["Authorization"] = "Bearer correct-horse"
            case = client.post("/v1/cases", json={"model": "wine"}).json()
            body = {"feature": case["question"]["name"], "value": 1.0}
            assert client.post(f"/v1/cases/{case['id']}/observations", json=body).status_code == 200
            rows = {"model": "breast_cancer", "rows": [[1.0] * 30]}
            assert client.post("/v1/classify", json=rows).status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert started < 60  # compiling would take longer
    assert not [*state.rglob("*.nbc")], "something was compiled that the build should have"
    assert sorted((str(p), p.stat().st_mtime_ns) for p in image.rglob("*")) == before
    assert os.stat(state / "cases.sqlite").st_uid == NOBODY


def test_the_files_of_an_operator_say_what_the_program_knows():
    """Every option, setting and path in them exists."""
    options = set(re.findall(r"--[a-z-]+", CliRunner().invoke(app, ["serve", "--help"], terminal_width=200).stdout))
    texts = {name: (ROOT / name).read_text() for name in (
        "Containerfile", "deploy/compose.yaml", "deploy/etana.service", "deploy/nginx.conf",
        "docs/howto/operating.md")}  # fmt: skip
    for name in ("Containerfile", "deploy/compose.yaml", "deploy/etana.service"):
        lines = (line for line in texts[name].splitlines() if re.search(r'etana serve|"serve"|"--', line))
        served = "\n".join(lines)
        used = set(re.findall(r"(?<![\w-])--[a-z-]+", served))
        assert used <= options, (name, used - options)
    assert "USER 10001" in texts["Containerfile"]
    assert "HEALTHCHECK" in texts["Containerfile"]
    assert "read_only: true" in texts["deploy/compose.yaml"]
    for path in re.findall(r"`(deploy/[\w.]+|Containerfile)`", texts["docs/howto/operating.md"]):
        assert (ROOT / path).exists(), path
    for limit in re.findall(r"--limit (\w+)=", texts["docs/howto/operating.md"]):
        assert hasattr(Limits(), limit), limit


def test_nginx_takes_its_configuration(tmp_path):
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not installed")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-subj",
         "/CN=localhost"], cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    text = (ROOT / "deploy" / "nginx.conf").read_text().replace("/etc/nginx/tls", str(tmp_path))
    text = text.replace("server etana:8000", "server 127.0.0.1:8000").replace(
        "443 ssl", f"127.0.0.1:{databases.free_port()} ssl"
    )
    (tmp_path / "whole.conf").write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}\nhttp {{ access_log off;\n{text}\n}}"
    )
    done = subprocess.run([program, "-t", "-p", tmp_path, "-c", tmp_path / "whole.conf"], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_systemd_takes_the_unit(tmp_path):
    program = shutil.which("systemd-analyze")
    text = (ROOT / "deploy" / "etana.service").read_text()
    sections = re.findall(r"^\[(\w+)\]$", text, re.M)
    assert sections == ["Unit", "Service", "Install"]
    assert all(re.fullmatch(r"\w+=.*", line) for line in text.splitlines() if line and line[0] not in "#[")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    (tmp_path / "etana.service").write_text(text.replace("/opt/etana/bin/etana", "/bin/true"))
    done = subprocess.run([program, "verify", tmp_path / "etana.service"], capture_output=True, encoding="utf-8")
    assert "etana.service" not in done.stderr, done.stderr
