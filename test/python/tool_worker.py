"""The tools of test/integration/python-tool.test.ts; each writes down outside of Everthread that it was there."""

import asyncio
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../examples/python-tool"))

from temporalio.client import Client  # noqa: E402

from everthread_tools import ToolCall, run_worker  # noqa: E402


def note(did: str, call: ToolCall) -> None:
    line = {"did": did, "attempt": call.attempt, "key": call.idempotency_key, "trace": call.traceparent}
    with open(os.environ["EFFECTS"], "a", encoding="utf8") as effects:
        effects.write(json.dumps(line) + "\n")


async def rework(call: ToolCall) -> dict:
    note("acted", call)
    text = (await call.read_file(call.arguments["path"])).decode()
    await call.write_file(call.arguments["path"], text.upper().encode(), "text/plain")
    again = (await call.read_file(call.arguments["path"])).decode()
    await call.write_file("/made/length.txt", str(len(again)).encode(), "text/plain")
    key = call.variables["API_KEY"]
    return {
        "status": "success",
        "result": {"text": again, "key": key, "times": call.arguments["times"]},
        "attachments": [{"path": "/made/length.txt", "description": "How long it is"}],
    }


async def fail(call: ToolCall) -> dict:
    note("acted", call)
    await call.write_file("/made/before-the-error.txt", b"kept, as of any tool", "text/plain")
    raise ValueError(f"It cannot be done: {call.arguments['task']}")


async def hold(call: ToolCall) -> str:
    note("acted", call)
    if call.attempt == 1:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            note("cancelled", call)
            raise
    return f"done in attempt {call.attempt}: {call.arguments['task']}"


async def odd(call: ToolCall) -> object:
    note("acted", call)
    if call.arguments["task"] == "own timeout":
        raise TimeoutError("The socket was too slow.")
    return {
        "plain dict": {"words": 3},
        "status of its own": {"status": "shipped"},
        "no JSON": {1, 2},
        "not a number": float("nan"),
        "too large": "x" * 5_000_000,
        "no result": {"status": "success", "attachments": "none"},
    }[call.arguments["task"]]


async def main() -> None:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    print("connected", flush=True)
    await run_worker(
        {"rework": rework, "fail": fail, "hold": hold, "odd": odd},
        task_queue=os.environ["PYTHON_TASK_QUEUE"],
        url=os.environ["EVERTHREAD_URL"],
        token=os.environ["EVERTHREAD_TOOL_TOKEN"],
        client=client,
    )


asyncio.run(main())
