"""Model files to serve, and servers."""

import databases
import pytest
from hostile import hostile_data
from servers import Server, in_process
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import etana
from etana.service.app import create_app
from etana.service.limits import Limits
from etana.service.models import Models
from etana.service.store import Store


@pytest.fixture(scope="session")
def data():
    """Tables and labels by name of the model."""
    return {
        "wine": load_wine(return_X_y=True, as_frame=True),
        "breast_cancer": load_breast_cancer(return_X_y=True, as_frame=True),
        "digits": load_digits(return_X_y=True),  # no names
        "hostile": hostile_data(),
    }


@pytest.fixture(scope="session")
def folder(data, tmp_path_factory):
    """A folder with a model file for each."""
    folder = tmp_path_factory.mktemp("models")
    options = {
        "wine": {"feature_costs": 0.02},
        "breast_cancer": {"feature_costs": 0.003},
        "digits": {"feature_costs": 0.01},
        "hostile": {"feature_costs": 0.002, "ordering": [4, 5, 0, 1, 2, 3]},
    }
    for name, (X, y) in data.items():
        etana.save(
            etana.ETANAClassifier(**{"ordering": "error", "temperature": 1.0, "random_state": 0} | options[name]).fit(
                X, y
            ),
            folder / f"{name}.etana",
        )
    return folder


@pytest.fixture(scope="session")
def adaptive(data, tmp_path_factory):
    """A model file of a classifier that chooses for each instance, in a way that no fold has to find."""
    path = tmp_path_factory.mktemp("adaptive") / "adaptive.etana"
    clf = etana.AdaptiveClassifier(0.01, m=10.0, look_ahead=False, random_state=0)
    etana.save(clf.fit(*data["breast_cancer"]), path)
    return path


@pytest.fixture(scope="session")
def make_client(folder):
    """A client for an application with these models and settings, in this process."""
    opened = []

    def make(*names, limits=None, store=None, **settings):
        limits = limits or Limits()
        models = Models([folder / f"{name}.etana" for name in names])
        cases = Store(":memory:", limits.case_life, limits.cases) if store is None else store
        client = in_process(create_app(models, cases, limits, **settings))
        opened.append((client, cases))
        return client

    yield make
    for client, cases in opened:
        client.close()
        cases.close()


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of our own."""
    reason = databases.missing()
    if reason:
        pytest.skip(reason)
    server = databases.Postgres()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """A new place for a store, of both kinds."""
    if request.param == "sqlite":
        return str(tmp_path / "cases.sqlite")
    return request.getfixturevalue("postgres").database()


@pytest.fixture(scope="module")
def start_server(tmp_path_factory):
    """Starts servers that end with the module."""
    running = []

    def start(*arguments, **options):
        running.append(Server(tmp_path_factory.mktemp("server"), *arguments, **options))
        return running[-1]

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="module")  # its loop would be in the way of other tests that run one
def chromium():
    """A browser."""
    from driving import ARGUMENTS, CHROMIUM, playwright

    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium, server):
    """Opens browsers of one's own; at the end nothing was loaded from elsewhere, and nothing was refused or failed."""
    contexts, requests, complaints, dialogs = [], [], [], []

    def browse(base_url=server.url, **options):
        context = chromium.new_context(base_url=base_url, **options)
        context.set_default_timeout(30_000)
        contexts.append(context)
        context.on("request", lambda request: requests.append((request.url, base_url)))
        context.on("console", lambda message: complaints.append(message.text))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.accept()))
        return context

    browse.dialogs = dialogs
    yield browse
    for context in contexts:
        context.close()
    assert requests
    assert [url for url, home in requests if not url.startswith((f"{home}/", "data:"))] == []
    # Chromium complains of every page whose status is an error; that is no fault of the page.
    assert [text for text in complaints if "Failed to load resource: the server responded" not in text] == []


@pytest.fixture
def page(browse):
    return browse().new_page()
