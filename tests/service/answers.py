"""Rows of tables as the service takes them, and cases that they answer."""

import math

import numpy as np


def as_json(value):
    """A value of a table or a label as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def follow(client, model, row):
    """A case answered from a row, to its end."""
    case = client.post("/v1/cases", json={"model": model}).json()
    while case["question"] is not None:
        feature = case["question"]["name"]
        body = {"feature": feature, "value": row[feature], "revision": case["revision"]}
        response = client.post(f"/v1/cases/{case['id']}/observations", json=body)
        assert response.status_code == 200, response.text
        case = response.json()
    return case
