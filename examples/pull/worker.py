"""A worker in Python that pulls its work over HTTP, with the standard library alone."""
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ["GLEANER_URL"] + "/api/v1/claims"
HEADERS = {"Authorization": "Bearer " + os.environ["GLEANER_TOKEN"], "Content-Type": "application/json"}
WORKER = os.environ.get("GLEANER_WORKER", "python")


def post(path, body):
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request, timeout=60) as response:
        text = response.read()
    return json.loads(text) if text else None


def say(item, verb, **body):
    """Answers None when the claim is over: another worker has the item, or the server heard us the first time."""
    path = "/" + urllib.parse.quote(item["id"], safe="") + "/" + verb
    while True:
        try:
            return post(path, {"fence": item["fence"], **body}) or {}
        except urllib.error.HTTPError as error:
            if error.code == 409:
                return None
            if error.code < 500:
                raise
        except OSError:
            pass  # The server is away. The claim lives until its lease ends.
        time.sleep(0.5)


class Renewing:
    """Renews the lease while the work goes on. `stop` is set when the item was cancelled or lost."""

    def __init__(self, item):
        self.item, self.stop, self.done = item, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.renew, daemon=True)

    def renew(self):
        while not self.done.wait(self.item["leaseMs"] / 3000):
            lease = say(self.item, "renew")
            if lease is None or lease["cancelled"]:
                return self.stop.set()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()


def work(item, handlers):
    try:
        with Renewing(item) as lease:
            result = handlers[item["name"]](item["input"], lease.stop)
    except Exception as error:
        return say(item, "fail", error={"message": repr(error)})
    return say(item, "complete", result=result)


def main(handlers, **wish):
    """Runs until it is killed, or until nothing comes for `wait`."""
    while True:
        try:
            items = post("", {"names": list(handlers), "worker": WORKER, "wait": "20s", "lease": "1m", **wish})["items"]
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise
            time.sleep(0.5)
            continue
        for item in items:
            settled = work(item, handlers)
            print(item["name"], item["id"], "lost" if settled is None else "settled", flush=True)
        if not items and "--once" in sys.argv:
            return


if __name__ == "__main__":
    main({"text.count": lambda input, stop: len(input["text"].split())}, queues=["text"], wait="2s")
