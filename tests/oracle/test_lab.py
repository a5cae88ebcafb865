"""The lab's server: the command's numbers and sentences to its own page, and nothing to anybody else."""

import json
import socket
import threading
import time

import pytest
from conftest import BINARY, ROOT, Command
from served import Served

QUARTIC = (ROOT / "examples" / "quartic" / "model.toml").read_text()
LOOK = {"model": QUARTIC, "noise": "normal(0, 4)", "nu": 1.0}


@pytest.fixture(scope="module")
def lab():
    served = Served(BINARY)
    yield served
    assert served.is_alive(), "the lab ended by itself"
    status, _ = served.stop()
    assert status == 0


def test_numbers_are_the_commands(lab, tmp_path):
    command = Command(tmp_path)
    model = command.model(QUARTIC)
    status, look = lab.ask("look", LOOK)
    assert status == 200
    error = command.json("error", model, "--noise", "normal(0, 4)", "--nu", 1)
    assert look["error"]["error"] == error["error"] == pytest.approx(48.528032, rel=1e-7)
    assert look["error"]["covariance"] == error["covariance"]
    design = command.json("design", model, "--nu", 1)
    assert look["optimum"]["error"] == design["error"] == pytest.approx(41.68119, rel=1e-6)
    _, overview = lab.ask("overview", LOOK)
    assert overview["error"] == command.json("design", model)["error"] == pytest.approx(40.5036, rel=1e-6)


def test_other_losses_targets_and_prices_are_the_commands(lab, tmp_path):
    command = Command(tmp_path)
    model = command.model(QUARTIC)
    for options, asked in [
        (["--loss", "kl"], {"loss": "kl"}),
        (["--loss-ratio", "10"], {"loss_ratio": 10.0}),
        (["--target", "kl"], {"target": "kl"}),
        (["--target", "a", "--at", "a=0.5,b=0.2"], {"target": "a", "at": [["a", 0.5], ["b", 0.2]]}),
    ]:
        _, look = lab.ask("look", {**LOOK, "noise": "student(5, 0.3, 1.5)", **asked})
        expected = command.json("error", model, "--noise", "student(5, 0.3, 1.5)", *options)
        assert look["error"]["error"] == expected["error"], options
    _, look = lab.ask("look", {**LOOK, "price_noise": 0.1})
    expected = command.json("design", model, "--nu", 1, "--price-noise", 0.1)
    assert look["optimum"]["error"] == expected["error"]
    # The same noise at these prices: (1 + 0.1 ν)/(1 + ν) of the error by points.
    assert look["error"]["priced"] == pytest.approx(48.528032 * 1.1 / 2, rel=1e-7)


def test_a_fit_is_the_commands(tmp_path):
    command = Command(tmp_path)
    folder = ROOT / "examples" / "old-faithful"
    served = Served(BINARY, folder / "model.toml", folder / "faithful.csv")
    try:
        _, start = served.ask("start", {})
        asked = {"model": start["model"]["text"], "noise": "auto", "nu": 10.0, "data": start["data"]["number"]}
        status, found = served.ask("fit", asked)
        assert status == 200, found
        expected = command.json("fit", folder / "model.toml", folder / "faithful.csv", "--nu", 10)
        assert found["fit"]["parameters"] == expected["parameters"]
        assert "<table" in found["table"] and [p["heading"] for p in found["pictures"]][0] == "Data against the fitted model"
    finally:
        assert served.stop()[0] == 0


def test_the_spread_of_simulated_estimates_is_the_predicted_one(lab):
    model = "variables = ['x']\nlog_density = '-(x - m)^2/2'\n[parameters]\nm = 0"
    asked = {"model": model, "noise": "normal(0, 2)", "nu": 1.0, "budget": 1000, "count": 100}
    _, look = lab.ask("look", asked)
    found = [estimates for first in (0, 100) for estimates in lab.ask("simulate", {**asked, "first": first})[1]["estimates"]]
    assert len(found) == 200 and None not in found
    for j in range(2):
        mean = sum(row[j] for row in found) / 200
        variance = sum((row[j] - mean) ** 2 for row in found) / 199
        # The variance of 200 draws has a relative standard error of √(2/199) = 0.1: four of them, and a little for T = 1000.
        assert variance / (look["error"]["covariance"][j][j] / 500) == pytest.approx(1, abs=0.45)


def test_mistakes_are_the_commands_sentences_with_their_place(lab, tmp_path):
    command = Command(tmp_path)
    for text, wrong in [
        (QUARTIC.replace("a*x^2/2", "a*x^2/2 + bogus"), "bogus"),
        (QUARTIC.replace("- b*x^4", "-* b*x^4"), "*"),
        (QUARTIC.replace("x^4", "exq(x)"), "exq"),
        (QUARTIC.replace('["x"]', '["x"'), "log_density"),
        (QUARTIC.replace("variables", "variabels"), "variabels"),
    ]:
        status, found = lab.ask("model", {"model": text})
        said = command.refuses("error", command.model(text))
        assert status == 422 and found["field"] == "model"
        assert said == f"error: model.toml: {found['message']}"
        start, end = found["place"]
        assert text[start:end] == wrong
    _, look = lab.ask("look", {**LOOK, "noise": "nrmal(0, 4)"})
    said = command.refuses("error", command.model(QUARTIC), "--noise", "nrmal(0, 4)")
    assert said == f"error: --noise: {look['error']['mistake']['message']}"
    assert look["error"]["mistake"]["place"] == [0, 5]
    assert look["optimum"]["error"] > 0


def test_only_its_own_page_is_answered(lab):
    body = json.dumps(LOOK).encode()
    here = f"127.0.0.1:{lab.port}"
    ask = f"{lab.path}ask/look"
    assert lab.request("POST", ask, body, {"Origin": f"http://{here}"})[0] == 200
    for path, headers in [
        ("/", {}),
        ("/ask/look", {}),
        (f"/{'0' * 32}/ask/look", {}),
        (f"{lab.path[:-2]}/ask/look", {}),
        (ask, {"Host": "evil.example"}),
        (ask, {"Host": f"evil.example:{lab.port}"}),
        (ask, {"Host": "127.0.0.1:1"}),
        (ask, {"Origin": "http://evil.example"}),
        (ask, {"Origin": "null"}),
        (ask, {"Origin": f"https://{here}"}),
    ]:
        status, _, text = lab.request("POST", path, body, headers)
        assert status == 403 and lab.path.strip("/") not in text, (path, headers)
    status, headers, text = lab.request("GET", lab.path)
    assert status == 200 and "default-src 'none'" in headers["content-security-policy"]
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    assert "access-control-allow-origin" not in headers
    # Not from another machine, whatever it sends.
    outside = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    name = socket.gethostbyname(socket.gethostname())
    if not name.startswith("127."):
        with pytest.raises(OSError):
            outside.connect((name, lab.port))
    outside.close()


def test_no_file_is_opened(lab, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"secret": "a-secret"}')
    for noise in [f'file("{secret}")', 'file("/etc/passwd")']:
        _, look = lab.ask("look", {**LOOK, "noise": noise})
        assert "opens no files" in look["error"]["mistake"]["message"]
        assert "a-secret" not in json.dumps(look) and "root:" not in json.dumps(look)
    for path in ["../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "data", "page/lab.js"]:
        status, _, text = lab.request("GET", lab.path + path)
        assert status in (404, 405) and "root:" not in text
    # A name is a name: nothing is read or written under it.
    status, _, text = lab.request("POST", f"{lab.path}data?name={secret}", b"x\n1\n2\n")
    assert status == 200
    assert secret.read_text() == '{"secret": "a-secret"}'


def test_large_and_broken_requests_are_refused(lab):
    for path, size in [("ask/look", 100 << 20), ("data?name=d.csv", 100 << 20)]:
        status, _, _ = lab.request("POST", lab.path + path, b"x" * (1 << 16), {"Content-Length": str(size)})
        assert status == 413
    for body in [b"", b"{", b"[]", b"\xff\xfe", b'{"nu": "one"}', b'{"unknown": 1}', b"[" * 100_000]:
        status, _, text = lab.request("POST", f"{lab.path}ask/look", body)
        assert status in (400, 422), (body[:20], text)
    assert lab.ask("nothing", {})[0] == 503
    for field, value in [("nu", -1), ("nu", 0), ("nu", 1e308), ("price_data", -1), ("loss", "jss"), ("target", "q"), ("at", [["a", 1e300]])]:
        status, found = lab.ask("look", {**LOOK, field: value})
        assert status == 422 or "mistake" in found["error"] or "mistake" in found["optimum"] or status == 200, (field, found)
    assert lab.ask("simulate", {**LOOK, "count": 10**6})[0] == 422
    assert lab.ask("simulate", {**LOOK, "budget": 10**12})[0] == 422


BOMBS = {
    "deep": "(" * 30_000 + "x" + ")" * 30_000,
    "long": "+".join(["a*x"] * 12_000),
    "nested": "x" + "".join(f"*exp(a*x/{k})" for k in range(1, 3000)),
    "tower": "-x^2^2^2^2^2^2^2",
    "powers": "-" + "*".join(["(x + a*x^2)"] * 2000),
    "functions": "-" + "sin(" * 120 + "a*x" + ")" * 120 + "- x^2",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_model_bomb_is_refused_or_answered(lab, name):
    model = f'variables = ["x"]\nlog_density = "{BOMBS[name]}"\n[parameters]\na = 1\n'
    began = time.monotonic()
    status, found = lab.ask("look", {"model": model, "noise": "normal(0, 1)"})
    assert status in (200, 422, 504), found
    assert lab.is_alive()
    # Whatever it was, the next question is answered at once.
    assert lab.ask("look", LOOK)[0] == 200
    assert time.monotonic() - began < 70


def test_many_variables_are_refused(lab):
    names = [f"x{i}" for i in range(300)]
    model = f"variables = {names}\nfamily = 'gaussian'\n"
    assert lab.ask("model", {"model": model})[0] == 422
    model = f"variables = {names[:60]}\nfamily = 'ising'\nstates = [0, 1]\n"
    assert lab.ask("model", {"model": model})[0] in (200, 422)


def test_two_hundred_at_once(lab):
    answers = []

    def ask(page):
        asked = {**LOOK, "nu": 1 + 0.001 * page}
        answers.append(lab.ask("look", asked, page="one" if page % 2 else str(page))[0])

    threads = [threading.Thread(target=ask, args=(page,)) for page in range(200)]
    [thread.start() for thread in threads]
    [thread.join(timeout=120) for thread in threads]
    # Answered, replaced by a newer one of the same page, or sent away.
    assert len(answers) == 200 and set(answers) <= {200, 409, 503}
    assert answers.count(200) >= 1
    assert lab.ask("look", LOOK)[0] == 200
    assert lab.load()["running"] == 0 and lab.load()["waiting"] == 0


def test_a_newer_question_cancels_the_older(lab):
    slow = {**LOOK, "budget": 20_000, "count": 40}
    found = []
    threads = []
    for _ in range(5):
        threads.append(threading.Thread(target=lambda: found.append(lab.ask("simulate", slow, page="same")[0])))
        threads[-1].start()
        time.sleep(0.1)
    assert lab.load()["running"] <= 1
    [thread.join(timeout=120) for thread in threads]
    assert found.count(409) == 4


def test_it_ends_by_control_c_and_says_its_address(tmp_path):
    command = Command(tmp_path)
    served = Served(BINARY)
    assert served.address.startswith("http://127.0.0.1:") and len(served.path.strip("/")) == 32
    other = Served(BINARY, "--quiet")
    assert other.path != served.path
    taken = command.refuses("lab", "--no-open", "--port", served.port, says=["cannot be listened at", "leave --port out"])
    assert str(served.port) in taken
    status, said = served.stop()
    assert status == 0 and said == "The lab is open at this address until Ctrl-C.\n"
    assert other.stop() == (0, "")
    command.refuses("lab", "no-such.toml", "--no-open", says=["there is no such file"])
    command.refuses("lab", "--json", "--no-open", says=["prints no JSON"])
