"""A browser without a window, and the lab for it."""

import os
import sys
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "oracle"))

from conftest_lab import Page  # noqa: E402
from served import Served  # noqa: E402

BINARY = Path(os.environ.get("NOISEWRIGHT", ROOT / "target" / "debug" / "noisewright"))


@pytest.fixture(scope="session")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    # Only this machine's own page is opened, as whoever runs the tests: the sandbox needs what containers have not.
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,1000"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")))
    driver.set_script_timeout(240)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def served():
    lab = Served(BINARY)
    yield lab
    assert lab.stop()[0] == 0


@pytest.fixture
def page(browser, served):
    """The page at its beginning, in a window of usual size and light colours."""
    own = Page(browser, served)
    own.window(1280, 1000)
    own.colours("light")
    own.open()
    return own
