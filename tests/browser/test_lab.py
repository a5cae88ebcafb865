"""The lab in a real browser: dragged, read, and compared with the command."""

import json
import re
import statistics
import subprocess
import time

import pytest
from conftest import BINARY, ROOT
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

QUARTIC = ROOT / "examples" / "quartic" / "model.toml"


def command(*arguments, folder=ROOT):
    """The command's JSON."""
    done = subprocess.run([BINARY, *map(str, arguments), "--json"], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_quartic_reads_what_the_command_says(page):
    page.settled()
    assert page.value("noise-words") == "normal(0, 4)"
    assert (page.value("noise-mean"), page.value("noise-sd"), page.value("nu")) == ("0", "2", "1")
    assert page.text("error") == "48.528"
    assert page.text("optimum").startswith("41.681")
    page.top()
    page.picture("lab-quartic")
    page.type("nu", "0.68987")
    page.until(lambda: page.text("optimum") == "40.5036")
    design = command("design", QUARTIC, "--nu", 0.68987)
    assert page.number("optimum") == pytest.approx(design["error"], rel=5e-6)
    error = command("error", QUARTIC, "--noise", "normal(0, 4)", "--nu", 0.68987)
    assert page.number("error") == pytest.approx(error["error"], rel=5e-6)
    assert page.number("efficiency") == pytest.approx(100 * error["efficiency"], rel=5e-4)
    page.until(lambda: page.number("best-nu"))
    assert page.number("best-nu") == pytest.approx(0.68987, rel=1e-4)
    assert "Certified" in page.text("certificate")


def test_dragging_the_noise_moves_the_numbers_as_the_command_has_them(page):
    page.drag("mean-0", 90)
    page.until(lambda: float(page.value("noise-mean")) > 0.2)
    page.drag("sd-0", -40)
    page.drag("tails-0", 0, up=30)
    page.settled()
    words = page.value("noise-words")
    assert words.startswith("student(")
    assert float(page.value("noise-sd")) < 2
    expected = command("error", QUARTIC, "--noise", words, "--nu", 1)
    assert page.number("error") == pytest.approx(expected["error"], rel=5e-6)
    page.click("noise-add")
    page.settled()
    weight = float(page.value("noise-weight"))
    page.drag("mean-1", 0, up=40)
    page.settled()
    assert float(page.value("noise-weight")) > weight
    words = page.value("noise-words")
    assert words.count("*") == 2
    expected = command("error", QUARTIC, "--noise", words, "--nu", 1)
    assert page.number("error") == pytest.approx(expected["error"], rel=5e-6)
    page.top()
    page.picture("lab-mixture")
    page.drag("nu", 60)
    page.settled()
    nu = page.value("nu")
    assert float(nu) > 1
    assert page.number("optimum") == pytest.approx(command("design", QUARTIC, "--nu", nu)["error"], rel=5e-6)


def test_keys_move_the_noise(page):
    handle = page.browser.find_element(By.CSS_SELECTOR, '[data-handle="mean-0"]')
    assert handle.get_attribute("role") == "slider" and handle.get_attribute("aria-label") == "mean"
    page.browser.execute_script("arguments[0].focus()", handle)
    for _ in range(3):
        page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
        page.settled()
    mean = float(page.value("noise-mean"))
    assert mean > 0
    expected = command("error", QUARTIC, "--noise", page.value("noise-words"), "--nu", 1)
    assert page.number("error") == pytest.approx(expected["error"], rel=5e-6)
    # The reader of the screen hears of it, once it rests.
    page.until(lambda: page.find("spoken").get_property("textContent").startswith("Error"))
    assert page.browser.switch_to.active_element.get_attribute("data-handle") == "mean-0"


def latencies(page, key, moves):
    """Moves a knob to and fro, each time when the last picture is there; milliseconds from event to picture."""
    script = """
        const [key, moves, done] = arguments, app = window.noisewrightLab, waits = [];
        const svg = document.querySelector(`[data-handle="${key}"]`).closest('svg');
        svg.scrollIntoView({block: 'center'});
        const at = () => { const box = document.querySelector(`[data-handle="${key}"] .knob`).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
        const send = (type, x, y) => (type === 'pointerdown' ? document.querySelector(`[data-handle="${key}"] .knob`) : svg)
            .dispatchEvent(new PointerEvent(type, {bubbles: true, cancelable: true, clientX: x, clientY: y, pointerId: 1}));
        svg.setPointerCapture = () => {};
        (async () => {
            const [x0, y0] = at();
            send('pointerdown', x0, y0);
            for (let i = 0; i < moves; i++) {
                const seen = app.latencies.length;
                send('pointermove', x0 + 40 * Math.sin(i / 3) + 1, y0);
                while (app.latencies.length === seen) await new Promise(r => setTimeout(r, 2));
            }
            send('pointerup', x0, y0);
            done(app.latencies.slice(-moves));
        })();
    """
    return page.browser.execute_async_script(script, key, moves)


def told(what, found, moves):
    """Every drag had its picture; how fast is measured, not asserted: machines and their load differ. (A frame whose time is that of the
    event or before it counts as zero.)"""
    assert len(found) == moves and min(found) >= 0
    print(f"{what}: median {statistics.median(found):.1f} ms, largest {max(found):.1f} ms")


def test_the_picture_follows_the_hand(page):
    page.settled()
    told("1-D, noise", latencies(page, "mean-0", 60), 60)
    told("1-D, ν", latencies(page, "nu", 60), 60)


def test_the_picture_follows_the_hand_on_a_plane(page):
    page.open("example=correlation&noise=normal([0, 0], [[1.5, 0], [0, 1.5]])")
    page.settled()
    told("2-D, noise", latencies(page, "mean-0", 40), 40)
    told("2-D, ν", latencies(page, "nu", 20), 20)


def test_a_thousand_drags_in_ten_seconds(page):
    page.settled()
    script = """
        const done = arguments[0], svg = document.querySelector('#nw-density');
        svg.setPointerCapture = () => {};
        const box = document.querySelector('[data-handle="mean-0"] .knob').getBoundingClientRect();
        const x = box.x + 4, y = box.y + 4;
        document.querySelector('[data-handle="mean-0"] .knob').dispatchEvent(new PointerEvent('pointerdown', {bubbles: true, clientX: x, clientY: y, pointerId: 1}));
        let sent = 0;
        const timer = setInterval(() => {
            svg.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: x + 60 * Math.sin(sent / 20), clientY: y, pointerId: 1}));
            if (++sent === 1000) { clearInterval(timer); svg.dispatchEvent(new PointerEvent('pointerup', {bubbles: true, pointerId: 1})); done(sent); }
        }, 10);
    """
    before = page.served.load()["answered"]
    began = time.monotonic()
    assert page.browser.execute_async_script(script) == 1000
    load = page.served.load()
    assert load["running"] + load["waiting"] <= 1, load
    print(f"1,000 events in {time.monotonic() - began:.1f} s: {load['answered'] - before} answers, then {load}")
    page.settled()
    expected = command("error", QUARTIC, "--noise", page.value("noise-words"), "--nu", 1)
    assert page.number("error") == pytest.approx(expected["error"], rel=5e-6)


def test_a_plane_has_heat_maps(page):
    page.open("example=correlation&noise=normal([0, 0], [[1, -0.2332], [-0.2332, 1]])")
    page.settled()
    model = ROOT / "examples" / "correlation" / "model.toml"
    expected = command("error", model, "--noise", "normal([0,0],[[1,-0.2332],[-0.2332,1]])")
    assert page.number("error") == pytest.approx(expected["error"], rel=5e-6)
    page.until(lambda: len(page.browser.find_elements(By.CSS_SELECTOR, "#nw-density image")) == 4)
    page.drag("mean-0", 20, up=10)
    page.settled()
    expected = command("error", model, "--noise", page.value("noise-words"))
    assert page.number("error") == pytest.approx(expected["error"], rel=5e-6)
    page.top()
    page.picture("lab-plane")


def test_a_mistake_is_underlined_where_it_is(page):
    text = QUARTIC.read_text().replace("a*x^2/2", "a*x^2/2 + bogsu(x)")
    field = page.find("model-text")
    page.browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", field, text
    )
    page.until(lambda: page.find("message").is_displayed())
    (folder := ROOT / "target" / "lab-test").mkdir(parents=True, exist_ok=True)
    (folder / "model.toml").write_text(text)
    said = subprocess.run([BINARY, "error", "model.toml"], cwd=folder, capture_output=True, text=True, check=False).stderr
    assert said == f"error: model.toml: {page.text('message')}\n"
    assert page.text("model-message") == page.text("message")
    assert page.find("underline").get_property("textContent") == "bogsu"
    page.show("model-text")
    page.picture("lab-mistake")
    page.browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", field, QUARTIC.read_text()
    )
    page.until(lambda: not page.find("message").is_displayed())
    page.type("noise-words", "normal(0, )")
    page.until(lambda: page.find("noise-message").is_displayed())
    assert page.find("message").is_displayed() and page.number("optimum") > 40


def test_a_new_users_way(page, tmp_path):
    """Example, drag, design, a fit of one's own file, the command, the same numbers in the terminal."""
    page.choose("example", "old-faithful")
    page.until(lambda: "Old Faithful" in page.find("model-text").get_property("value") and page.number("error"))
    page.settled()
    own = tmp_path / "waiting.csv"
    own.write_text((ROOT / "examples" / "old-faithful" / "faithful.csv").read_text())
    page.drag("sd-0", 25)
    page.settled()
    page.click("go-best")
    page.settled()
    page.type("nu", "4")
    page.settled()
    page.find("data-file").send_keys(str(own))
    page.until(lambda: page.find("data-name").get_attribute("data-name") == "waiting.csv")
    page.click("fit")
    page.until(lambda: page.text("fit-stage").startswith("Fitted"))
    assert len(page.browser.find_elements(By.CSS_SELECTOR, ".pictures svg")) >= 3
    page.show("fit-table")
    page.picture("lab-fit")
    time.sleep(0.3)
    lines = page.find("command").get_property("textContent").split("\n")
    shell = "\n".join([*lines[:-3], *(f"{line} --json > {name}.json" for line, name in zip(lines[-3:], ["error", "design", "fit"]))])
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "noisewright").symlink_to(BINARY)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    subprocess.run(["bash", "-euo", "pipefail", "-c", shell], cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    said = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ["error", "design", "fit"]}
    assert page.number("error") == pytest.approx(said["error"]["error"], rel=5e-6)
    assert page.number("optimum") == pytest.approx(said["design"]["error"], rel=5e-6)
    shown = page.browser.execute_script("return window.noisewrightLab.fit.fit.parameters")
    for name, estimate in said["fit"]["parameters"].items():
        assert shown[name]["estimate"] == estimate["estimate"] and shown[name]["se"] == estimate["se"]
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", page.text("fit-table"))]
    for estimate in said["fit"]["parameters"].values():
        # A table shows a few digits.
        assert any(number == pytest.approx(abs(estimate["estimate"]), rel=0.01) for number in numbers)


def test_the_address_brings_a_state_back(page):
    page.type("noise-words", "0.7*normal(0, 4) + 0.3*student(3, 1, 2)")
    page.choose("loss", "hellinger")
    page.type("nu", "2.5")
    page.settled()
    time.sleep(0.4)
    address, error = page.browser.current_url, page.text("error")
    page.open(address.split("#", 1)[1])
    page.settled()
    assert page.text("error") == error
    assert page.value("noise-words") == "0.7*normal(0, 4) + 0.3*student(3, 1, 2)"
    assert page.value("loss") == "hellinger"


def test_simulated_estimates_spread_as_predicted(page):
    page.type("budget", "1000")
    page.click("simulate")
    page.until(lambda: page.text("simulation-stage") and int(page.text("simulation-stage").split()[0]) >= 40)
    page.show("simulate")
    page.picture("lab-simulation")
    page.click("simulate")
    page.settled()
    ratio = float(page.text("spread-a").split("±")[0])
    # Of 40 or more data sets the standard deviation is known to 1/√78 = 0.11: four of them.
    assert ratio == pytest.approx(1, abs=0.45)


def assert_apart(boxes):
    """No two of them overlap."""
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            apart = a[2] <= b[0] + 0.5 or b[2] <= a[0] + 0.5 or a[3] <= b[1] + 0.5 or b[3] <= a[1] + 0.5
            assert apart, (a, b)


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("example", ["quartic", "lsat", "ozone", "correlation"])
def test_numbers_never_overlap(page, width, example):
    page.window(width, 900)
    page.open(f"example={example}")
    page.settled()
    boxes = page.browser.execute_script("""
        return [...document.querySelectorAll('svg.chart')].filter(svg => svg.getClientRects().length).map(svg => [...svg.querySelectorAll('text')].map(e => {
            const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] }));
    """)
    assert sum(map(len, boxes)) > 6
    for chart in boxes:
        assert_apart(chart)


def test_dark_and_phone(page):
    page.settled()
    page.colours("dark")
    background = page.browser.execute_script("return getComputedStyle(document.querySelector('.nw-lab')).backgroundColor")
    assert background == "rgb(22, 25, 29)"
    page.top()
    page.picture("lab-dark")
    page.colours("light")
    page.window(375, 800, mobile=True)
    page.open()
    page.settled()
    wide = page.browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= 375
    page.top()
    page.picture("lab-phone")
    boxes = page.browser.execute_script(
        "return [...document.querySelectorAll('.number .value, .number .note, .number .name')].map(e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] })"
    )
    boxes = [box for box in boxes if box[2] > box[0]]
    assert_apart(boxes)


def test_everything_has_a_name_for_screen_readers(page):
    page.settled()
    nameless = page.browser.execute_script("""
        const named = e => e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim() || e.title;
        return [...document.querySelectorAll('input, select, textarea, button, [role=slider]')].filter(e => !named(e)).map(e => e.outerHTML.slice(0, 120));
    """)
    assert nameless == []
    tree = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    controls = [node for node in tree if node.get("role", {}).get("value") in ("slider", "spinbutton", "combobox", "button", "textbox")]
    assert len(controls) > 25 and all(node.get("name", {}).get("value") for node in controls)


def test_nothing_is_asked_of_other_hosts_and_nothing_goes_wrong(page):
    page.settled()
    seen = [json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")]
    addresses = [m["params"]["request"]["url"] for m in seen if m["method"] == "Network.requestWillBeSent"]
    own = (page.served.address, "data:", "about:blank", "blob:")
    assert addresses and all(address.startswith(own) for address in addresses), [a for a in addresses if not a.startswith(own)]
    severe = [e["message"] for e in page.browser.get_log("browser") if e["level"] == "SEVERE" and not re.search(r"\b(409|422)\b", e["message"])]
    assert severe == []


def test_pictures_and_numbers_can_be_saved(page, tmp_path):
    page.settled()
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    for name in ["save-svg", "save-json", "save-csv", "save-model"]:
        page.click(name)
    page.until(lambda: {"density.svg", "curve.svg", "lab.json", "lab.csv", "model.toml"} <= {p.name for p in tmp_path.iterdir()})
    saved = json.loads((tmp_path / "lab.json").read_text())
    assert saved["error"]["error"] == pytest.approx(48.528032, rel=1e-7)
    assert (tmp_path / "lab.csv").read_text().startswith("x,data,noise,optimum,all_noise,weight,a\n")
    assert (tmp_path / "model.toml").read_text() == QUARTIC.read_text()
    assert "<svg" in (tmp_path / "density.svg").read_text()


def test_a_notebooks_widget_is_the_same_page(browser):
    """The widget's script in a page of its own, with this process in the place of a kernel."""
    nw = pytest.importorskip("noisewright")
    pytest.importorskip("anywidget")
    lab = nw.lab(nw.load_example("quartic").model, noise="normal(0, 4)", nu=1)
    widget, answers = lab.widget, []
    widget.send = lambda message, *_: answers.append(message)
    browser.get("about:blank")
    begin = """
        const [script, style, done] = arguments;
        document.head.append(Object.assign(document.createElement('style'), {textContent: style}));
        window.asked = [];
        let heard;
        const model = {send: message => window.asked.push(message), on: (_, listener) => { heard = listener; }, off: () => {}};
        window.tell = message => heard(message);
        import(URL.createObjectURL(new Blob([script], {type: 'text/javascript'}))).then(module => { module.default.render({model, el: document.body}); done(true); }, error => done(String(error)));
    """
    assert browser.execute_async_script(begin, widget._esm, widget._css) is True
    read = "return (document.querySelector('[data-testid=\"error\"]') || {}).textContent"
    end = time.monotonic() + 40
    while time.monotonic() < end and browser.execute_script(read) != "48.528":
        for message in browser.execute_script("return window.asked.splice(0)"):
            widget._heard(widget, message, [])
        while answers:
            browser.execute_script("window.tell(arguments[0])", answers.pop(0))
        time.sleep(0.02)
    assert browser.execute_script(read) == "48.528"
