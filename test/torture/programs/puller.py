"""The worker of examples/pull, with what the torture pulls."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../examples/pull"))
import worker


def slowly(input, stop):
    time.sleep(0.02)
    return input["id"]


worker.main(
    {"note": slowly, "notes": slowly},
    names=["note"],
    queues=["notes"],
    discoveries=["notes"],
    limit=2,
    lease="2s",
    wait="1s",
)
