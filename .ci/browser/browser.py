"""A headless Chromium, spoken to in its DevTools protocol over two pipes. Standard library alone."""

import json
import os
import subprocess

# What a page may take at most to be shown, in seconds.
PATIENCE_S = 20


class Browser:
    """Chromium with one tab. Events are kept until somebody takes them."""

    def __init__(self, profile):
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()

        def as_three_and_four():
            # Through high numbers, so that neither pipe is closed by the other's move.
            os.dup2(to_browser, 103)
            os.dup2(from_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self._process = subprocess.Popen(
            [
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=as_three_and_four,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._next = 0
        self._events = []
        self._session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        tab = next(it["targetId"] for it in targets if it["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=tab, flatten=True)
        self._session = attached["sessionId"]

    def call(self, method, **params):
        """Calls a method and waits for its answer."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == self._next:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']['message']}")
                return found["result"]
            self._events.append(found)

    def wait(self, method):
        """Waits for an event, which may have come already."""
        for event in self._events:
            if event.get("method") == method:
                return
        while True:
            event = self._receive()
            self._events.append(event)
            if event.get("method") == method:
                return

    def take_events(self):
        """The events since the last time."""
        events, self._events = self._events, []
        return events

    def evaluate(self, expression):
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"]["value"]

    def close(self):
        """Ends it."""
        self._process.terminate()
        self._process.wait(timeout=PATIENCE_S)

    def _receive(self):
        while b"\0" not in self._buffer:
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise RuntimeError("chromium went away")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)
