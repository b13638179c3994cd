"""look.py FOLDER PAGE…: opens each page in Chromium, in windows of a desk and of a phone, light and dark.
Fails where something was requested beyond the page, an error was logged, or what is shown is wrong.
Pictures go to FOLDER."""

import base64
import pathlib
import sys
import tempfile

from browser import Browser

WINDOWS = {"desk": 1280, "phone": 390}
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text()


def look(browser, page, folder):
    """What is wrong with a page, a line each."""
    wrong = []
    for window, width in WINDOWS.items():
        for scheme in ("light", "dark"):
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=900,
                deviceScaleFactor=1,
                mobile=window == "phone",
            )
            browser.call(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}],
            )
            browser.take_events()
            browser.call("Page.navigate", url=page.as_uri())
            browser.wait("Page.loadEventFired")
            found = browser.evaluate(LOOK)
            found += from_elsewhere(browser.take_events(), page.as_uri())
            wrong += [f"{page.name}, {window}, {scheme}: {it}" for it in found]
            picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True)
            path = folder / f"{page.stem}-{window}-{scheme}.png"
            path.write_bytes(base64.b64decode(picture["data"]))
    return wrong


def from_elsewhere(events, own):
    """What was requested beside the page itself, and what was complained of."""
    wrong = []
    for event in events:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                url = params["request"]["url"]
                if url.split("#")[0] != own:
                    wrong.append(f"{url[:80]} was requested")
            case "Log.entryAdded":
                wrong.append(f"logged: {params['entry']['text']}")
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                wrong.append(f"said on the console: {params}")
    return wrong


def main():
    folder = pathlib.Path(sys.argv[1])
    pages = [pathlib.Path(it).resolve() for it in sys.argv[2:]]
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            for domain in ("Page", "Network", "Runtime", "Log"):
                browser.call(f"{domain}.enable")
            for page in pages:
                wrong += look(browser, page, folder)
        finally:
            browser.close()
    for line in wrong:
        print(line)
    print(f"{len(pages)} pages, each in {2 * len(WINDOWS)} ways: {len(wrong)} faults")
    sys.exit(1 if wrong else 0)


main()
