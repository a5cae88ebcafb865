"""The lab as a process: started, asked over HTTP, ended by Ctrl-C."""

import http.client
import json
import signal
import subprocess
from urllib.parse import urlsplit


class Served:
    """`noisewright lab` on a free port."""

    def __init__(self, binary, *arguments, folder=None):
        command = [str(binary), "lab", "--no-open", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        self.port, self.path = parts.port, parts.path

    def request(self, method, path, body=None, headers=None, timeout=90):
        """Status, headers and text of an answer; `headers` may replace the Host."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.putrequest(method, path, skip_host=headers is not None and "Host" in headers)
        sent = dict(headers or {})
        if body is not None and "Content-Length" not in sent:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders()
        if body is not None:
            try:
                connection.send(body)
            except OSError:
                pass  # refused before all of it was sent: the answer says so
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read().decode()
        connection.close()
        return found

    def ask(self, kind, question, page="test", **more):
        """Status and object of an answer to a question."""
        body = json.dumps(question).encode()
        status, _, text = self.request("POST", f"{self.path}ask/{kind}?page={page}", body, **more)
        return status, json.loads(text)

    def load(self):
        """How much the lab computes."""
        return json.loads(self.request("GET", f"{self.path}status")[2])

    def is_alive(self):
        return self.process.poll() is None

    def stop(self):
        """Ctrl-C; gives the exit status and what was said on standard error."""
        if self.is_alive():
            self.process.send_signal(signal.SIGINT)
        try:
            _, said = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, said
