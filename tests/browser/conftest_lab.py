"""The page of the lab, as a hand and an eye know it."""

import base64
import os
import time
from pathlib import Path

from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

#: Where pictures for the book go, if they are asked for.
PICTURES = os.environ.get("LAB_PICTURES")
#: How long an answer is waited for on a machine that is busy.
PATIENCE = 40


class Page:
    """One tab with the lab."""

    def __init__(self, browser, served):
        self.browser = browser
        self.served = served

    def open(self, state=""):
        self.browser.get("about:blank")
        self.browser.get(self.served.address + ("#" + state if state else ""))
        self.until(lambda: self.number("error") and self.number("optimum"))

    def window(self, width, height, mobile=False):
        settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)

    def colours(self, scheme):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def find(self, name):
        return self.browser.find_element(By.CSS_SELECTOR, f'[data-testid="{name}"]')

    def text(self, name):
        return self.find(name).text

    def value(self, name):
        return self.find(name).get_property("value")

    def number(self, name):
        """What an element reads, as a number; nothing while there is none."""
        try:
            return float(self.text(name).replace("−", "-").replace("%", "").replace("∞", "inf").strip())
        except ValueError:
            return None

    def until(self, true, seconds=PATIENCE):
        """Waits for something to become true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if true():
                    return
            except Exception as error:  # an element that is being drawn anew
                last = error
                if "stale" not in str(last) and "no such element" not in str(last):
                    raise
            time.sleep(0.03)
        raise AssertionError(f"waited in vain; the page says: {self.text('message')!r}")

    def settled(self):
        """Waits until nothing is computed for the page any more, and nothing has been for a while: between two questions of a page the
        server has none."""

        def rests():
            answered = self.served.load()["answered"]
            time.sleep(0.3)
            return (load := self.served.load())["running"] == 0 and load["waiting"] == 0 and load["answered"] == answered

        self.until(rests)

    def type(self, name, words):
        """Replaces what stands in a field."""
        field = self.find(name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(str(words))

    def choose(self, name, value):
        self.browser.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))", self.find(name), value
        )

    def click(self, name):
        element = self.find(name)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def place(self, key):
        """The middle of a knob in the window."""
        script = """
            const knob = () => document.querySelector(`[data-handle="${arguments[0]}"] .knob`);
            knob().closest('svg').scrollIntoView({block: 'center'});
            const box = knob().getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        """
        return self.browser.execute_script(script, key)

    def drag(self, key, across, up=0):
        """Drags a knob by so many pixels with the mouse."""
        self.settled()
        x, y = self.place(key)
        actions = ActionBuilder(self.browser, duration=10)
        mouse = actions.pointer_action.move_to_location(round(x), round(y)).pointer_down()
        for step in range(1, 6):
            mouse = mouse.move_to_location(round(x + across * step / 5), round(y - up * step / 5))
        mouse.pointer_up()
        actions.perform()

    def picture(self, name):
        """The window as a picture for the book, if pictures are kept."""
        if PICTURES:
            Path(PICTURES).mkdir(parents=True, exist_ok=True)
            taken = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 82})
            (Path(PICTURES) / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))

    def top(self):
        self.browser.execute_script("scrollTo(0, 0)")

    def show(self, name):
        self.browser.execute_script("arguments[0].closest('section').scrollIntoView({block: 'start'})", self.find(name))
