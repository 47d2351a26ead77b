"""JSON read in steps is the JSON that is read at once, and nothing makes a step long."""

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import etana.service.bodies as bodies
from etana.errors import InputError
from etana.service.bodies import read_fields
from etana.service.errors import Malformed

CELL = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=8)
ROW = st.lists(CELL, max_size=5) | st.dictionaries(st.text(max_size=5), CELL, max_size=5)
BODY = st.fixed_dictionaries({"rows": st.lists(ROW, max_size=6)}, optional={"model": CELL, "max_cost": CELL})


@pytest.fixture(scope="module")
def walked():
    """Every body is walked, and every row that has more than a few characters."""
    before = bodies._SHORT, bodies._STEPS
    bodies._SHORT, bodies._STEPS = 0, (4, 12)
    yield
    bodies._SHORT, bodies._STEPS = before


@settings(max_examples=150, deadline=None)
@given(BODY, st.sampled_from([None, 0, 1, 3]), st.booleans())
def test_a_walk_finds_what_one_call_finds(walked, body, indent, plain):
    text = json.dumps(body, indent=indent, ensure_ascii=plain)
    assert read_fields(text.encode("utf-8", "surrogatepass"), body, 10, 10) == json.loads(text)


@pytest.mark.parametrize("number", ["1.2e+16", "12.5", "-1e5", "123.0e-7", "0.00001", "1E9"])
def test_a_number_that_is_cut_is_read_whole(walked, number):
    text = f'{{"rows": [{number}], "max_cost": {number}}}'
    assert read_fields(text.encode(), ("rows", "max_cost"), 10, 10) == json.loads(text)


@settings(max_examples=150, deadline=None)
@given(BODY, st.data())
def test_what_is_spoilt_is_refused_or_read_as_one_call_reads_it(walked, body, data):
    text = json.dumps(body)
    at = data.draw(st.integers(0, len(text) - 1))
    spoilt = text[:at] + data.draw(st.sampled_from(['"', "{", "]", ",", ":", "\\", "9", " ", ""])) + text[at + 1 :]
    try:
        wanted = json.loads(spoilt)
    except (ValueError, RecursionError):
        if spoilt.lstrip().startswith("{"):  # nothing else is ever right, so it is not even read
            with pytest.raises((Malformed, InputError)):
                read_fields(spoilt.encode(), body, 10, 10)
        return
    if isinstance(wanted, dict):
        try:
            found = read_fields(spoilt.encode(), wanted, 10, 10)
        except InputError:
            return  # an object where only plain values can be
        except Malformed:
            if not bodies._HALF_PAIR.search(json.dumps(wanted, ensure_ascii=False)):
                raise
            return
        assert found == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"rows": [[1, 2, 3]', "expected"),
        ('{"rows": [[1, 2, 3]]} x', "more follows"),
        ('{"rows": [["\\ud800aaaaaaaaaaaaaaaaaa"]]}', "surrogate"),
        ('{"rows": [["a", "\\ud800"]]}', "surrogate"),
        ('{"\\udfff": 1}', "surrogate"),
        ("{rows: []}", "name is missing"),
        ('{"rows": [["' + "a" * 50, "Unterminated"),
    ],
)
def test_faults_are_told(walked, text, said):
    with pytest.raises(Malformed, match=said):
        read_fields(text.encode(), ["rows"], 10, 10)


def test_limits_are_told(walked):
    with pytest.raises(InputError, match="more than 2 rows"):
        read_fields(b'{"rows": [{}, {}, {}]}', ["rows"], 2, 10)
    with pytest.raises(InputError, match="more than 3 values"):
        read_fields(b'{"rows": [[1000, 2000, 3000, 4000]]}', ["rows"], 2, 3)
    with pytest.raises(InputError, match="an object or a list"):
        read_fields(b'{"rows": [[1000, 2000, 3000, [1]]]}', ["rows"], 2, 30)
    assert len(read_fields(b"{" + b",".join(b'"k%d":0' % i for i in range(100)) + b"}", [], 1, 1)) == 10
    assert read_fields(b"[1, 2]", [], 1, 1) is None
    assert math.isnan(read_fields(b'{"max_cost": NaN}', ["max_cost"], 1, 1)["max_cost"])


def test_no_call_is_long():
    """Eight megabytes of each kind; other threads get their turn at least every tenth of a second."""
    import threading

    gaps, stop = [], threading.Event()

    def tick():
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    thread = threading.Thread(target=tick)
    thread.start()
    wide = b'{"rows":[{' + b",".join(b'"k%06d":0' % i for i in range(300_000)) + b"}]}"
    long = b'{"rows":[[' + b",".join([b"0.123"] * 600_000) + b"]]}"
    try:
        assert len(read_fields(wide, ["rows"], 10, 10**7)["rows"][0]) == 300_000
        assert len(read_fields(long, ["rows"], 10, 10**7)["rows"][0]) == 600_000
    finally:
        stop.set()
        thread.join()
    assert sorted(gaps)[-3] < 0.1
