"""Reads our HTML as a browser without scripts does: text by id, forms with their fields, and what a page loads."""

from html.parser import HTMLParser

_EMPTY = frozenset(("img", "input", "link", "meta"))


class Html(HTMLParser):
    """A page, read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.forms: dict[str, dict[str, str]] = {}
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, dict[str, str]]] = []
        self._form: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        self.tags.append((tag, given))
        if tag == "form":
            self._form = self.forms.setdefault(given["action"], {})
        if tag == "input" and given.get("type") == "hidden":
            self._form[given["name"]] = given["value"]
        if tag not in _EMPTY:
            self._open.append((tag, given))

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, text):
        for tag, given in self._open:
            for key in {tag, given.get("id", tag)}:
                self.texts[key] = self.texts.get(key, "") + text

    @property
    def addresses(self) -> set[str]:
        return {given[key] for _, given in self.tags for key in ("src", "href", "action") if key in given}


class Visitor:
    """Somebody with a browser that has no scripts."""

    def __init__(self, client) -> None:
        self.client = client
        client.cookies.clear()

    def get(self, address: str, status: int = 200, **headers: str) -> Html:
        headers = {"Accept": "text/html", **headers}
        return self._read(self.client.get(address, headers=headers, follow_redirects=True), status)

    def post(self, action: str, status: int = 200, page: Html | None = None, files=None, **fields: str) -> Html:
        """Send a form of a page, the last one if not given, with these fields; follows the redirect."""
        sent = (page or self.page).forms[action] | fields
        headers = {"Accept": "text/html"}
        response = self.client.post(action, data=sent, files=files, headers=headers, follow_redirects=True)
        if status == 200:
            assert response.history[0].status_code == 303
        return self._read(response, status)

    def start(self, model: str, **fields: str) -> Html:
        self.get(f"/models/{model}")
        return self.post("/cases", **fields)

    @property
    def case(self) -> str:
        """Address of the case that is shown."""
        return self.response.url.path.removesuffix("/answer")

    def answer(self, status: int = 200, page: Html | None = None, **fields: str) -> Html:
        return self.post(f"{self.case}", status, page, **({"answer": "given"} | fields))

    def _read(self, response, status: int) -> Html:
        assert response.status_code == status, response.text
        self.response, self.page = response, Html(response.text)
        return self.page
