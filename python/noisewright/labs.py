"""The lab in notebooks: the page of `noisewright lab`, as a widget or at an address of this machine."""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from . import _core
from .arrays import points
from .checks import number, positive
from .errors import InputError
from .models import Model

__all__ = ["Lab", "lab"]

#: The lab whose page is served: results link to it.
_served: Lab | None = None


class Lab:
    """A page on which the noise of a model is moved by hand, shown by Jupyter and marimo as a widget.

    Without `anywidget` a notebook shows a link to the page instead.
    """

    def __init__(self, core: _core.Lab) -> None:
        self._core = core
        self._widget: Any = None

    @property
    def address(self) -> str:
        """The page at an address of this machine, with a token that nobody can guess; it is served from now on."""
        global _served
        address = self._core.serve()
        _served = self
        return address

    def stop(self) -> None:
        """Ends the page and its computations."""
        global _served
        self._core.cancel()
        self._core.stop()
        if _served is self:
            _served = None

    @property
    def widget(self) -> Any:
        """The page as a widget of `anywidget`, for `marimo.ui.anywidget` and layouts of ipywidgets."""
        if self._widget is None:
            self._widget = _widget(self._core)
        return self._widget

    def _repr_mimebundle_(self, **options: Any) -> Any:
        try:
            widget = self.widget
        except ImportError:
            address = escape(self.address)
            note = "install anywidget to have the lab within the notebook"
            return {"text/html": f'<a href="{address}" target="_blank">Open the lab</a> ({note})', "text/plain": self.address}
        return widget._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        return "<the lab: its page is at `.address`>"


def lab(
    model: Any = None, data: Any = None, *, noise: Any = None, nu: float | None = None, at: Mapping[str, float] | None = None
) -> Lab:
    """The lab: a page on which the noise is moved by hand while the error, the best noise and the fit follow.

    Args:
        model: a model, the path of a model file, or a result of `error`, `design` or `fit`, which brings its noise and
            parameters; an example by default.
        data: rows for "Fit this", or the path of a data file.
        noise: the noise to begin with, as an object or in words.
        nu: noise points per data point to begin with.
        at: the parameters that are taken to be true, by name.

    >>> import noisewright as nw
    >>> model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
    >>> page = nw.lab(model, noise="normal(0, 2)")
    """
    known = _beginning(model)
    text = known["model"]
    words = known["noise"] if noise is None else str(getattr(noise, "words", noise))
    ratio = known["nu"] if nu is None else positive(nu, "nu")
    built = None if text is None else Model._from_text(text)
    places = known["at"] if at is None else _places(at, built)
    return Lab(_core.Lab(None if text is None else ("model.toml", text), _file(data, built), words, ratio, places))


def _places(at: Mapping[str, float], model: Model | None) -> list[tuple[str, float]]:
    """Values of the model's parameters."""
    if model is None:
        raise InputError("`at` are parameters of a model: give it too")
    unknown = [name for name in at if name not in model.parameters]
    if unknown:
        raise InputError(f"`at`: the model has no parameter {unknown[0]!r}; its parameters are {', '.join(model.parameters)}")
    return [(str(name), number(value, f"at[{name!r}]")) for name, value in at.items()]


def _beginning(what: Any) -> dict[str, Any]:
    """The model's text, noise, ν and parameters that a model or a result has."""
    if what is None or isinstance(what, Model):
        text = None if what is None else _text(what)
        return {"model": text, "noise": None, "nu": None, "at": []}
    if isinstance(what, (str, Path)):
        return {"model": _text(Model.from_file(what)), "noise": None, "nu": None, "at": []}
    state = state_of(what)
    if state is None:
        raise InputError(f"`model` must be a model, a model file or a result of error, design or fit, not {type(what).__name__}")
    return state


def _text(model: Model) -> str:
    if model.text is None:
        raise InputError("the lab shows models that a file can say, and this one is made from functions")
    return model.text


def state_of(result: Any) -> dict[str, Any] | None:
    """What the lab begins with to show a result; nothing where it cannot."""
    noise = getattr(result, "noise", None)
    text = _model_text(result, noise)
    if text is None or not hasattr(result, "nu") or not isinstance(getattr(result, "parameters", None), Mapping):
        return None
    if Model._from_text(text).covariates:
        return None
    parameters = [(name, float(value)) for name, value in result.parameters.items()]
    designed = getattr(noise, "kind", None) == "optimal"
    words = "optimal" if designed else getattr(noise, "words", None)
    ratio = float(result.nu)
    return {"model": text, "noise": words, "nu": ratio if 0 < ratio < float("inf") else None, "at": parameters}


def _model_text(result: Any, noise: Any) -> str | None:
    """The model file behind a result: a fit has its model, a noise the model that it was made for."""
    model = getattr(result, "model", None)
    if isinstance(model, Model):
        return model.text
    record = getattr(noise, "_record", None)
    text = json.loads(record).get("model") if record else getattr(noise, "_model", None)
    return None if text is None else str(text)


def link(result: Any) -> str:
    """A line of HTML that leads from a result to the lab; nothing where the lab cannot show it."""
    state = state_of(result)
    if state is None:
        return ""
    if _served is None:
        return '<p class="nw-note">See its noise move: <code>nw.lab(result)</code></p>'
    at = ",".join(f"{name}={value!r}" for name, value in state["at"])
    fields = {"model": state["model"], "at": at, "noise": state["noise"], "nu": state["nu"]}
    known = {name: value for name, value in fields.items() if value not in (None, "")}
    address = f"{_served.address}#{urlencode(known)}"
    return f'<p class="nw-note"><a href="{escape(address)}" target="_blank">See its noise move in the lab</a></p>'


def _file(data: Any, model: Model | None) -> tuple[str, bytes] | None:
    """Data as a file: the one that is named, or the rows as CSV."""
    if data is None:
        return None
    if isinstance(data, (str, Path)):
        try:
            return str(data), Path(data).read_bytes()
        except OSError as error:
            raise InputError(f"`data`: {data} cannot be read: {error.strerror}") from error
    if model is None:
        raise InputError("`data` are of a model: give it too")
    names = model.variables or []
    table = points(data, names)
    rows = "\n".join(",".join(repr(float(value)) for value in row) for row in table.T)
    return "data.csv", f"{','.join(names)}\n{rows}\n".encode()


def _widget(core: _core.Lab) -> Any:
    """The page as a widget whose questions this process answers."""
    import anywidget

    script, style = _core.lab_page()

    class LabWidget(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = script
        _css = style

        def __init__(self) -> None:
            super().__init__()
            self.on_msg(self._heard)

        def _heard(self, _: Any, message: dict[str, Any], buffers: list[Any]) -> None:
            if message["kind"] == "data":
                number = core.add_data(json.loads(message["question"])["name"], bytes(buffers[0]))
                self.send({"id": message["id"], "answer": json.dumps({"number": number})})
                return
            # A newer question cancels the older within the lab: threads end as soon as it does.
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()

        def _answer(self, message: dict[str, Any]) -> None:
            found, text = core.ask(str(id(self)), message["kind"], message["question"])
            self.send({"id": message["id"], "answer" if found else "mistake": text})

    return LabWidget()


@atexit.register
def _end() -> None:
    if _served is not None:
        _served.stop()
