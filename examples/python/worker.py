"""A worker in Python, with the standard library alone: lines that begin with TASK| come in and go out."""
import json
import sys
import traceback


def word_count(text, progress):
    print("counting", len(text), "characters")  # any other line becomes a log line of the task
    words = {}
    for number, word in enumerate(text.split(), start=1):
        words[word] = words.get(word, 0) + 1
        if number % 1000 == 0:
            progress(number * len(word) / len(text))
    return words


HANDLERS = {"text.count": lambda input, progress: word_count(input["text"], progress)}


def say(type, id, **details):
    print("TASK|" + json.dumps({"type": type, "id": id, **details}), flush=True)


for line in sys.stdin:
    message = json.loads(line.removeprefix("TASK|"))
    if message["type"] == "run":
        id = message["id"]
        try:
            result = HANDLERS[message["name"]](message["input"], lambda f: say("progress", id, fraction=min(f, 1)))
            say("done", id, result=result)
        except Exception as error:
            details = {"message": repr(error), "stack": traceback.format_exc()}
            say("failed", id, error=details, retry=False if isinstance(error, KeyError) else None)
    elif message["type"] == "stop":
        break
