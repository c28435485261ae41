# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium at the other end of a pipe: pages as they are laid out, in any width, light or dark.

Speaks the DevTools protocol over two file descriptors, which needs nothing but Python itself. What pages write to the
console, and whatever the browser has to say against them, is kept in `console`.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self):
        self.console = []
        self._last_id = 0
        self._buffer = b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()
        self._process = self._start(to_read, from_write)
        os.close(to_read)
        os.close(from_write)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _start(self, to_read, from_write):
        """Chromium reads commands on descriptor 3 and answers on 4."""
        # Moved out of the way first, to numbers that are free: the pipes may have been given any themselves.
        script = 'exec {in}<&"$1" {out}>&"$2"; exec 3<&"$in" 4>&"$out"; shift 2; exec "$@"'
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
                   f"--user-data-dir={self._profile.name}", "about:blank"]
        return subprocess.Popen(
            ["bash", "-c", script, "bash", str(to_read), str(from_write), find_chromium(), *options],
            pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._to)  # the end of its commands is the end of the browser
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)
        self._profile.cleanup()

    def _message(self):
        while b"\0" not in self._buffer:
            read = os.read(self._from, 1 << 20)
            if not read:
                raise RuntimeError("the browser has gone away")
            self._buffer += read
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        self._keep(message)
        return message

    def _keep(self, message):
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(one.get("value")) for one in parameters["args"]))
        elif message.get("method") == "Runtime.exceptionThrown":
            self.console.append(parameters["exceptionDetails"]["text"])
        elif message.get("method") == "Log.entryAdded":
            self.console.append(parameters["entry"]["text"])
        elif message.get("method") == "Page.javascriptDialogOpening":
            self.console.append(f"a script ran: {parameters['message']}")

    def call(self, method, **parameters):
        self._last_id += 1
        request = {"id": self._last_id, "method": method, "params": parameters}
        if hasattr(self, "_session"):
            request["sessionId"] = self._session
        os.write(self._to, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") != request["id"]:
                continue
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            return message["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def set_dark(self, is_dark):
        scheme = "dark" if is_dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def screenshot(self, path, width, height=None):
        """Of the whole page, or of its upper end."""
        height = height or self.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])
