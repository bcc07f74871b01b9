"""Counts the words of a file: a tool of agents in TypeScript, in Python."""

import asyncio
import json
import os
from collections import Counter

from temporalio.client import Client

from everthread_tools import ToolCall, run_worker


async def count_words(call: ToolCall) -> dict:
    text = (await call.read_file(call.arguments["path"])).decode()
    most = Counter(text.lower().split()).most_common(call.arguments["top"])
    report = json.dumps(dict(most), indent=2).encode()
    await call.write_file("/reports/words.json", report, "application/json")
    return {
        "status": "success",
        "result": {"words": len(text.split()), "most": most},
        "attachments": [{"path": "/reports/words.json", "description": "How often each word is there"}],
    }


async def main() -> None:
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"),
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
    )
    print("connected", flush=True)
    await run_worker(
        {"count_words": count_words},
        task_queue=os.environ.get("PYTHON_TASK_QUEUE", "python-tools"),
        url=os.environ.get("EVERTHREAD_URL", "http://127.0.0.1:8080"),
        token=os.environ["EVERTHREAD_TOOL_TOKEN"],
        client=client,
    )


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
