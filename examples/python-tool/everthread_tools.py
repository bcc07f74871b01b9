"""Tools of Everthread in Python: Temporal brings ids, arguments and results go over HTTP.

A tool is a coroutine that gets a ToolCall and returns its result, any JSON, or a dict like
{"status": "success", "result": ..., "attachments": [{"path": "/report.txt"}]}. What it
raises is an error result for the model. No text of it is ever in Temporal: keep it so.
"""

import asyncio
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Awaitable, Callable, Mapping

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

BEAT_SECONDS = 1.0
# The largest result that the HTTP server accepts; put more into files.
RESULT_BYTES = 4 * 1024 * 1024
LONGEST_PAUSE_SECONDS = 5.0

UNSTORABLE = json.dumps(
    {
        "status": "error",
        "error": "The tool ran, but its result cannot be stored: it is no JSON, too large, or no result of a tool.",
    }
).encode()


class Refused(Exception):
    """The control plane's answer is no: trying again would not change it."""

    def __init__(self, status: int):
        super().__init__(f"status {status}")
        self.status = status


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool, claimed by this attempt."""

    arguments: Mapping[str, Any]
    variables: Mapping[str, str]
    attempt: int
    idempotency_key: str
    # W3C trace context, the parent of spans of your own: TraceContextTextMapPropagator().extract({"traceparent": ...}).
    traceparent: str | None
    _url: str
    _token: str

    async def read_file(self, path: str) -> bytes:
        """A file of the thread, or one that this call has written."""
        return await _request("GET", self._file(path), self._token)

    async def write_file(self, path: str, data: bytes, mime_type: str) -> None:
        """Kept for the call: it comes into the thread with the result, or not at all."""
        await _request("PUT", self._file(path), self._token, data, mime_type)

    def _file(self, path: str) -> str:
        return f"{self._url}/files?{urllib.parse.urlencode({'path': path})}"


Tool = Callable[[ToolCall], Awaitable[Any]]


async def run_worker(tools: Mapping[str, Tool], *, task_queue: str, url: str, token: str, client: Client) -> None:
    """Serves the tools, by the types of their activities, until it is cancelled."""
    activities = [_activity(name, tool, url, token) for name, tool in tools.items()]
    worker = Worker(
        client,
        task_queue=task_queue,
        activities=activities,
        # A stop arrives with a heartbeat: by default up to a minute later.
        max_heartbeat_throttle_interval=timedelta(seconds=BEAT_SECONDS),
        graceful_shutdown_timeout=timedelta(seconds=30),
    )
    await worker.run()


def _activity(name: str, tool: Tool, url: str, token: str) -> Callable[[dict], Awaitable[None]]:
    @activity.defn(name=name)
    async def run(call: dict) -> None:
        beat = asyncio.create_task(_beat())
        try:
            await _carry_out(tool, call, url, token)
        except Refused as refused:
            # 409 and 410: another attempt has the call, or it was answered or ended. Nothing is left to do.
            if refused.status not in (409, 410):
                raise ApplicationError(f"The control plane refused: {refused}.", type="Refused") from None
        finally:
            beat.cancel()

    return run


async def _carry_out(tool: Tool, call: dict, url: str, token: str) -> None:
    place = "/".join(urllib.parse.quote(call[name], safe="") for name in ("threadId", "callId"))
    here = f"{url}/tool-calls/{place}"
    # The same id when a lost answer makes the claim repeat, another id in another attempt.
    claim = json.dumps({"claimId": str(uuid.uuid4())}).encode()
    claimed = json.loads(await _request("POST", f"{here}/claim", token, claim))
    own = claimed["token"]
    seconds = max(0.0, claimed["deadline"] / 1_000_000 - time.time())
    made = ToolCall(
        claimed["arguments"],
        claimed["variables"],
        claimed["attempt"],
        claimed["idempotencyKey"],
        claimed["traceparent"],
        here,
        own,
    )
    result = await _result(tool, made, seconds)
    await _answer(f"{here}/result", own, result)


async def _result(tool: Tool, call: ToolCall, seconds: float) -> dict:
    try:
        return await asyncio.wait_for(_outcome(tool, call), seconds)
    except asyncio.TimeoutError:
        return {"status": "error", "error": "The tool did not answer in time.", "error_code": "timeout"}


async def _outcome(tool: Tool, call: ToolCall) -> dict:
    try:
        answer = await tool(call)
        whole = isinstance(answer, dict) and answer.get("status") in ("success", "error")
        return answer if whole else {"status": "success", "result": answer}
    except Refused as refused:
        if refused.status in (401, 409, 410):
            raise
        return {"status": "error", "error": f"A file could not be read or written: {refused}."}
    except Exception as error:  # The model reads what a tool raises, also the tool's own timeout.
        return {"status": "error", "error": str(error) or type(error).__name__}


async def _answer(url: str, token: str, result: dict) -> None:
    """The tool has run: a result that cannot be stored is an error for the model, and no reason to run it again."""
    try:
        body = json.dumps(result, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        body = UNSTORABLE
    # A server that refuses a long body closes the connection while it is sent, which looks like a network failure.
    if len(body) > RESULT_BYTES:
        body = UNSTORABLE
    try:
        await _request("POST", url, token, body)
    except Refused as refused:
        if refused.status not in (400, 413) or body is UNSTORABLE:
            raise
        await _request("POST", url, token, UNSTORABLE)


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(BEAT_SECONDS)


async def _request(
    method: str, url: str, token: str, body: bytes | None = None, mime_type: str = "application/json"
) -> bytes:
    """Waits for a control plane that is away: the activity's own limits end it."""
    pause = 0.2
    while True:
        try:
            return await asyncio.to_thread(_send, method, url, token, body, mime_type)
        except (ConnectionError, urllib.error.URLError, TimeoutError):
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _send(method: str, url: str, token: str, body: bytes | None, mime_type: str) -> bytes:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": mime_type}
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        if error.code == 429 or error.code >= 500:
            raise ConnectionError() from None
        raise Refused(error.code) from None
