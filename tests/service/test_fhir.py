"""FHIR: adaptive questionnaires that an independent library takes for valid, and the same decisions as the model's."""

import json
import shutil

import numpy as np
import pytest
from hostile import HOSTILE, HOSTILE_CLASSES, HOSTILE_LEVELS
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import in_process

import etana
from etana.service.app import create_app
from etana.service.models import Models
from etana.service.store import Store

bundle = pytest.importorskip("fhir.resources.R4B.bundle", reason="fhir.resources is not installed")
from fhir.resources.R4B.capabilitystatement import CapabilityStatement  # noqa: E402
from fhir.resources.R4B.operationoutcome import OperationOutcome  # noqa: E402
from fhir.resources.R4B.parameters import Parameters  # noqa: E402
from fhir.resources.R4B.questionnaire import Questionnaire  # noqa: E402
from fhir.resources.R4B.questionnaireresponse import QuestionnaireResponse  # noqa: E402

FHIR = {"Content-Type": "application/fhir+json"}
NEXT = "/fhir/Questionnaire/$next-question"
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
WORDS = {
    "flavanoids": {"description": "Flavanoids in the must", "unit": "mg/l", "lowest": 0, "highest": 10},
    "hue": {"choices": {"1": "pale", "0.6": "deep"}},
}


@pytest.fixture(scope="module")
def models(data, adaptive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fhir")
    clf = etana.ETANAClassifier(0.02, ordering="error", temperature=1.0).fit(*data["wine"]).describe(WORDS)
    etana.save(clf, folder / "wine.etana")
    hostile = etana.ETANAClassifier(0.002, ordering=[4, 5, 0, 1, 2, 3], random_state=0).fit(*data["hostile"])
    etana.save(hostile, folder / "hostile_1.etana")
    shutil.copy(adaptive, folder)
    return Models([folder])


@pytest.fixture(scope="module")
def client(models):
    store = Store(":memory:", 60, 10)
    client = in_process(create_app(models, store))
    yield client
    client.close()
    store.close()


def begin(model="wine", **more):
    """What a client sends first: neither questionnaire nor response has items."""
    asked = {"resourceType": "Questionnaire", "id": "q", "status": "active",
             "derivedFrom": [f"http://localhost/fhir/Questionnaire/{model}"]}  # fmt: skip
    return {
        "resourceType": "QuestionnaireResponse", "status": "in-progress", "contained": [asked], "questionnaire": "#q",
        "subject": {"reference": "Patient/1"}, "authored": "2026-01-01T00:00:00Z", **more,
    }  # fmt: skip


def ask(client, response, status=200, address=NEXT):
    answered = client.post(address, content=json.dumps(response), headers=FHIR)
    assert answered.headers["content-type"] == "application/fhir+json"
    assert answered.status_code == status, answered.text
    resource = answered.json()
    if status == 200:
        QuestionnaireResponse.model_validate(resource)
        Questionnaire.model_validate(resource["contained"][0])
        check_links(resource)
    else:
        OperationOutcome.model_validate(resource)
    return resource


def check_links(resource):
    """Every item of a response is one of its questionnaire, and has an answer of the type that this says."""
    asked = {item["linkId"]: item for item in resource["contained"][0].get("item", [])}
    kinds = {"decimal": ("valueDecimal", "valueInteger", "valueQuantity"), "boolean": ("valueBoolean",),
             "choice": ("valueCoding", "valueString"), "string": ("valueString",)}  # fmt: skip
    for item in resource.get("item", []):
        for answer in item.get("answer", []):
            values = [key for key in answer if key.startswith("value")]
            assert all(key in kinds[asked[item["linkId"]]["type"]] for key in values)
    links = [link for item in asked.values() for link in (item["linkId"], *(i["linkId"] for i in item.get("item", [])))]
    assert len(links) == len(set(links))


def open_item(resource):
    """The item that waits for an answer."""
    (item,) = [item for item in resource["item"] if "answer" not in item and "extension" not in item]
    return item


def question(resource):
    return next(i for i in resource["contained"][0]["item"] if i["linkId"] == open_item(resource)["linkId"])


def as_answer(item, value):
    if item["type"] == "boolean":
        return {"valueBoolean": bool(value)}
    if item["type"] == "choice":
        codes = [o["valueCoding"] for o in item["answerOption"]]
        return {"valueCoding": next(c for c in codes if value in (c["display"], c["code"]))}
    return {"valueDecimal": float(value)}


def absent(resource, reason):
    open_item(resource)["answer"] = [{"extension": [{"url": ABSENT, "valueCode": reason}]}]
    return resource


@pytest.mark.parametrize(("model", "name"), [("adaptive", "breast_cancer"), ("hostile_1", "hostile")])
def test_a_questionnaire_ends_as_the_model_does(client, models, data, model, name):
    X, _ = data[name]
    for row in (0, 60, 300):
        values, resource = X.iloc[row], ask(client, begin(model))
        case = models.get(model).model.start(warn=False)
        while resource["status"] == "in-progress":
            item = question(resource)
            assert item["linkId"] == case.next_feature
            value = values[item["linkId"]]
            if value is None or (isinstance(value, float) and np.isnan(value)):
                resource = ask(client, absent(resource, "asked-unknown"))
                case.observe(None)
                continue
            open_item(resource)["answer"] = [as_answer(item, value)]
            case.observe(value)
            resource = ask(client, resource)
        results = {i["linkId"]: i["answer"][0] for i in resource["item"] if i["linkId"].startswith("etana:")}
        assert resource["status"] == "completed"
        assert results["etana:decision"] == {"valueString": str(case.label)}
        assert results["etana:cost"]["valueDecimal"] == pytest.approx(case.cost)
        assert results["etana:probability"]["valueDecimal"] == pytest.approx(case.posterior.max())
        assert ask(client, resource)["item"] == resource["item"]  # completed stays completed


def test_the_first_question_has_what_the_dictionary_says(client):
    resource = ask(client, begin())
    item = question(resource)
    assert (item["linkId"], item["text"], item["type"]) == ("flavanoids", "Flavanoids in the must", "decimal")
    assert item["extension"][0]["valueCoding"] == {"code": "mg/l", "display": "mg/l"}
    assert item["item"][0]["text"] == "Costs 0.02. Plausible: 0 to 10 mg/l."
    assert resource["subject"] == {"reference": "Patient/1"}
    assert resource["authored"] > "2026-01-01"
    assert resource["questionnaire"] == "#q"


def test_known_answers_are_free_and_stay_known(client, models):
    known = {"linkId": "proline", "answer": [{"valueInteger": 1065}]}
    resource = ask(client, begin(item=[known]))
    case = models.get("wine").model.start(known={"proline": 1065.0})
    for _ in range(2):
        assert open_item(resource)["linkId"] == case.next_feature
        marked = {i["linkId"]: i.get("readOnly", False) for i in resource["contained"][0]["item"]}
        assert marked == {"proline": True, case.next_feature: False}
        resource = ask(client, resource)  # nothing was answered, so nothing changes
    open_item(resource)["answer"] = [{"valueQuantity": {"value": 3.06, "unit": "mg/l"}}]
    resource = ask(client, resource)
    case.observe(3.06)
    assert resource["status"] == "completed" or open_item(resource)["linkId"] == case.next_feature


def test_what_cannot_be_had_is_not_asked_and_not_paid(client, models):
    resource = ask(client, absent(ask(client, begin()), "not-performed"))
    case = models.get("wine").model.start().unavailable()
    assert open_item(resource)["linkId"] == case.next_feature
    resource = ask(client, absent(resource, "error"))
    case.observe(None)
    assert open_item(resource)["linkId"] == case.next_feature
    texts = [i["item"][0]["text"] for i in resource["contained"][0]["item"]]
    assert texts[0].startswith("Costs 0.")
    assert texts[1].startswith("Costs 0.02.")


def test_an_answer_that_is_changed_changes_what_follows(client, models):
    resource = ask(client, begin())
    open_item(resource)["answer"] = [{"valueDecimal": 3.06}]
    resource = ask(client, resource)
    second = open_item(resource)["linkId"]
    resource["item"][0]["answer"] = [{"valueDecimal": 0.5}]
    case = models.get("wine").model.start().observe(0.5)
    assert open_item(ask(client, resource))["linkId"] == case.next_feature
    del resource["item"][0]["answer"]
    resource["item"] = resource["item"][:1]
    again = ask(client, resource)
    assert open_item(again)["linkId"] == "flavanoids"
    assert second not in [i["linkId"] for i in again["contained"][0]["item"]]


def test_a_warning_is_a_display_item(client):
    resource = ask(client, begin())
    open_item(resource)["answer"] = [{"valueDecimal": 306}]
    shown = [i["text"] for i in ask(client, resource)["contained"][0]["item"] if i["type"] == "display"]
    assert shown == ["Warning: 'flavanoids' is 306, outside of its plausible range, 0 to 10 mg/l."]


def test_parameters_in_parameters_out(client):
    sent = {"resourceType": "Parameters", "parameter": [{"name": "questionnaire-response", "resource": begin()}]}
    answered = client.post(NEXT, content=json.dumps(sent), headers=FHIR).json()
    Parameters.model_validate(answered)
    assert answered["parameter"][0]["name"] == "return"
    assert open_item(answered["parameter"][0]["resource"])["linkId"] == "flavanoids"


def test_questionnaires_and_capabilities_are_valid(client, models):
    found = client.get("/fhir/Questionnaire").json()
    bundle.Bundle.model_validate(found)
    assert found["total"] == 3
    for entry in found["entry"]:
        Questionnaire.model_validate(entry["resource"])
    wine = client.get("/fhir/Questionnaire/wine").json()
    assert wine["url"].endswith("/fhir/Questionnaire/wine")
    assert wine["version"] == models.get("wine").digest[:12]
    hue = next(i for i in wine["item"] if i["linkId"] == "hue")
    assert hue["type"] == "choice"
    assert [o["valueCoding"] for o in hue["answerOption"]] == [
        {"code": "1", "display": "pale"}, {"code": "0.6", "display": "deep"}
    ]  # fmt: skip
    hostile = client.get("/fhir/Questionnaire/hostile_1").json()
    levels = next(i for i in hostile["item"] if i["linkId"] == HOSTILE)["answerOption"]
    assert [o["valueCoding"]["display"] for o in levels] == sorted(HOSTILE_LEVELS)
    assert sorted(HOSTILE_CLASSES)[0] in hostile["description"]
    capable = client.get("/fhir/metadata").json()
    CapabilityStatement.model_validate(capable)
    assert capable["rest"][0]["resource"][0]["operation"][0]["name"] == "next-question"


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"resourceType": "Patient"}, 422, "must be a QuestionnaireResponse"),
        ({"item": [{"linkId": "colour", "answer": []}]}, 422, "no feature of model wine"),
        ({"item": [{"linkId": "ash"}, {"linkId": "ash"}]}, 422, "two items have the linkId 'ash'"),
        ({"item": [{"text": "ash"}]}, 422, "must have a linkId"),
        ({"item": {"linkId": "ash"}}, 422, "must be a list"),
        ({"item": [{"linkId": "ash", "answer": [{"valueDecimal": "high"}]}]}, 422, "must be a number"),
        ({"item": [{"linkId": "ash", "answer": [{"valueDate": "2026-01-01"}]}]}, 422, "valueDate"),
        ({"item": [{"linkId": "ash", "answer": [{"valueDecimal": 1}, {"valueDecimal": 2}]}]}, 422, "one answer"),
        ({"item": [{"linkId": "ash", "answer": [{"valueDecimal": 1, "valueInteger": 2}]}]}, 422, "give one of them"),
        ({"item": [{"linkId": "flavanoids", "answer": [{"valueQuantity": {"value": 3, "unit": "g/l"}}]}]}, 422,
         "the model takes 'mg/l'"),
        ({"contained": [], "questionnaire": "http://x/Questionnaire/nothing"}, 422, "derivedFrom"),
        ({"contained": [], "questionnaire": "http://x/Questionnaire/wine|0123"}, 409, "has changed"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_operation_outcome(client, change, status, said):
    issue = ask(client, begin() | change, status)["issue"][0]
    assert said in issue["diagnostics"]
    assert issue["severity"] == "error"


def test_bodies_that_are_no_resources(client):
    for content, headers, status in (
        (b"{", FHIR, 400), (b"[]", FHIR, 422), (b"{}", {"Content-Type": "text/plain"}, 415),
        (b'{"a": "' + b"x" * 300_000 + b'"}', FHIR, 413), (b'{"resourceType": "Parameters"}', FHIR, 422),
    ):  # fmt: skip
        answered = client.post(NEXT, content=content, headers=headers)
        assert answered.status_code == status
        OperationOutcome.model_validate(answered.json())
    assert client.get("/fhir/Questionnaire/nothing").status_code == 404


def test_a_named_model_needs_no_derivation(client):
    response = begin() | {"contained": []}
    del response["questionnaire"]
    resource = ask(client, response, address="/fhir/Questionnaire/wine/$next-question")
    assert open_item(resource)["linkId"] == "flavanoids"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["flavanoids", "hue", "#q", ABSENT, "http://h/fhir/Questionnaire/wine"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["linkId", "item", "answer", "extension", "url", "valueCode", "valueDecimal", "valueCoding",
                         "valueQuantity", "value", "code", "contained", "questionnaire", "resourceType", "id",
                         "readOnly", "derivedFrom", "parameter", "name", "resource"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["item", "contained", "questionnaire", "meta", "status"]), JSON))
def test_nothing_that_is_sent_breaks_it(client, change):
    answered = client.post(NEXT, content=json.dumps(begin() | change), headers=FHIR)
    assert answered.status_code in (200, 409, 422), answered.text


def test_the_token_guards_it_too(models):
    store = Store(":memory:", 60, 10)
    client = in_process(create_app(models, store, token="correct-horse-battery"))
    assert client.post(NEXT, content="{}", headers=FHIR).status_code == 401
    allowed = client.post(
        NEXT, content=json.dumps(begin()), headers=FHIR | {"Authorization": "Bearer correct-horse-battery"}
    )
    assert allowed.status_code == 200
    assert len(store) == 0  # nothing is kept
    client.close()
    store.close()
