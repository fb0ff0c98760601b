"""The worker of worker.py with steps: their results are kept, and a wait holds neither the program nor a slot."""
import json
import sys
import traceback


class Leave(BaseException):
    """The run waits, and is over. It is run again from its beginning."""


class Run:
    """One run: keeps the results of steps, and waits without holding the program."""

    def __init__(self, id):
        self.id = id

    def say(self, type, **details):
        print("TASK|" + json.dumps({"type": type, "id": self.id, **details}), flush=True)

    def ask(self, type, **details):
        self.say(type, **details)
        answer = json.loads(sys.stdin.readline().removeprefix("TASK|"))
        if answer["type"] in ("leave", "cancel", "stop"):
            raise Leave(answer["type"])
        return answer

    def step(self, name, work):
        answer = self.ask("step", name=name)
        if answer["type"] == "do":
            answer = self.ask("keep", name=name, result=work())
        return answer["result"]

    def sleep(self, name, ms):
        self.ask("sleep", name=name, ms=ms)

    def wait_for(self, name, timeout_ms=None):
        answer = self.ask("wait", name=name, timeout_ms=timeout_ms)
        if answer["type"] == "timed_out":
            raise TimeoutError(f"the signal {name} did not come in time")
        return answer["payload"]


def charge(order):
    print("charging order", order)
    return {"id": f"pay_{order}"}


def ship(input, run):
    payment = run.step("charge", lambda: charge(input["order"]))
    approval = run.wait_for("approval", timeout_ms=7 * 86_400_000)
    return {"payment": payment["id"], "by": approval["by"]}


HANDLERS = {"order.ship": ship}

for line in iter(sys.stdin.readline, ""):
    message = json.loads(line.removeprefix("TASK|"))
    if message["type"] == "run":
        run = Run(message["id"])
        try:
            run.say("done", result=HANDLERS[message["name"]](message["input"], run))
        except Leave as left:
            if str(left) == "stop":
                break
        except Exception as error:
            details = {"message": repr(error), "stack": traceback.format_exc()}
            run.say("failed", error=details, retry=False if isinstance(error, KeyError) else None)
    elif message["type"] == "stop":
        break
