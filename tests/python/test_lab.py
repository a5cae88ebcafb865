"""The lab in notebooks: the same answers as the functions, as a widget and at an address."""

import json
import threading
import urllib.request
from urllib.parse import parse_qs, urlsplit

import pytest

import noisewright as nw

QUARTIC = nw.load_example("quartic").model


def answer(page, kind, **question):
    found, text = page._core.ask("test", kind, json.dumps({"model": QUARTIC.text, **question}))
    assert found, text
    return json.loads(text)


@pytest.fixture
def page():
    own = nw.lab(QUARTIC, noise="normal(0, 4)", nu=2)
    yield own
    own.stop()


def test_its_numbers_are_the_functions(page):
    look = answer(page, "look", noise="normal(0, 4)", nu=1.0)
    error = nw.error(QUARTIC, noise="normal(0, 4)", nu=1)
    assert look["error"]["error"] == error.error
    assert look["optimum"]["error"] == nw.design(QUARTIC, nu=1).error


def test_it_begins_with_what_it_was_given(page):
    start = answer(page, "start")
    assert (start["noise"], start["nu"], start["model"]["text"]) == ("normal(0, 4)", 2.0, QUARTIC.text)
    assert "old-faithful" in [example["name"] for example in start["examples"]]


def test_results_bring_their_model_noise_and_parameters():
    model, data = nw.load_example("old-faithful")
    fit = nw.fit(model, data, noise="normal(0, 2)", nu=5)
    for result in [fit, nw.error(model, noise="normal(0, 2)", nu=5), nw.design(model, nu=1)]:
        start = answer(nw.lab(result), "start")
        assert start["model"]["text"] == model.text and start["nu"] == result.nu
        assert start["at"] == {name: float(value) for name, value in result.parameters.items()}
    assert start["noise"] == "optimal"


def test_data_in_memory_can_be_fitted():
    model, data = nw.load_example("old-faithful")
    page = nw.lab(model, data)
    number = answer(page, "start")["data"]["number"]
    found, text = page._core.ask("test", "fit", json.dumps({"model": model.text, "noise": "normal(0, 2)", "nu": 4.0, "data": number}))
    assert found, text
    expected = nw.fit(model, data, noise="normal(0, 2)", nu=4)
    for name, estimate in json.loads(text)["fit"]["parameters"].items():
        assert estimate["estimate"] == expected.parameters[name].estimate


def test_the_address_serves_the_page_and_results_link_to_it(page):
    error = nw.error(QUARTIC, noise="normal(0, 4)", nu=1)
    assert "nw.lab(result)" in error._repr_html_()
    with urllib.request.urlopen(page.address, timeout=10) as response:
        text = response.read().decode()
    assert "The lab of Noisewright" in text
    html = error._repr_html_()
    address = html.split('href="')[1].split('"')[0].replace("&amp;", "&")
    assert address.startswith(page.address)
    state = {name: value[0] for name, value in parse_qs(urlsplit(address).fragment).items()}
    assert state["model"] == QUARTIC.text and state["noise"] == "normal(0, 4)" and float(state["nu"]) == 1.0
    page.stop()
    assert "nw.lab(result)" in error._repr_html_()


def test_the_widget_answers_messages(page):
    pytest.importorskip("anywidget")
    widget = page.widget
    assert "export default { render }" in widget._esm and ".nw-lab" in widget._css
    heard, done = [], threading.Event()

    def hear(message, *_):
        heard.append(message)
        done.set()

    widget.send = hear
    question = json.dumps({"model": QUARTIC.text, "noise": "normal(0, 4)"})
    widget._heard(widget, {"id": 1, "kind": "look", "question": question}, [])
    assert done.wait(30) and heard[0]["id"] == 1
    assert json.loads(heard[0]["answer"])["error"]["error"] == pytest.approx(48.528032, rel=1e-7)
    done.clear()
    widget._heard(widget, {"id": 2, "kind": "look", "question": json.dumps({"model": "nonsense"})}, [])
    assert done.wait(30) and "not TOML" in json.loads(heard[1]["mistake"])["message"]
    widget._heard(widget, {"id": 3, "kind": "data", "question": json.dumps({"name": "d.csv"})}, [b"x\n1\n2\n"])
    assert json.loads(heard[2]["answer"])["number"] >= 0
    assert "application/vnd.jupyter.widget-view+json" in str(page._repr_mimebundle_())


def test_what_it_cannot_show_is_refused():
    functions = nw.Model.from_functions(lambda x, m: -((x - m) ** 2) / 2, variables="x", parameters={"m": 0.0})
    with pytest.raises(nw.InputError, match="made from functions"):
        nw.lab(functions)
    with pytest.raises(nw.InputError, match="must be a model"):
        nw.lab(3)
    with pytest.raises(nw.InputError, match="`nu` must be"):
        nw.lab(nu=-1)
    with pytest.raises(nw.InputError, match="no parameter 'q'"):
        nw.lab(nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0}), at={"q": 1})
    with pytest.raises(nw.InputError, match="give it too"):
        nw.lab(at={"q": 1})
    with pytest.raises(nw.InputError, match="cannot be read"):
        nw.lab(data="/nowhere/rows.csv")
