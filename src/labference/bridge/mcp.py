"""The MCP door: the tool catalogue for any client of the Model Context Protocol, over stdio or streamable HTTP."""

from __future__ import annotations

import base64
import hmac
import json
import socket
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import numpy as np
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

import labference

from .desk import Desk
from .plain import dressed, png

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

INSTRUCTIONS = (
    "You work at a laboratory bench with a robot arm. Call goal to read what is asked, observe to look, and finish "
    "when it is done. Only motions and waiting take simulated time. evidence_version grows when something has happened "
    "on the bench: look again then."
)


def server(desk: Desk) -> Server[Any]:
    """Return an MCP server whose tools are those of `desk`."""
    listed = [Tool(name=t.name, description=t.description, input_schema=t.schema()) for t in desk.tools]

    async def tools(context: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        try:
            reply = await anyio.to_thread.run_sync(desk.call, params.name, params.arguments)
        except Exception:  # noqa: BLE001  # no traceback crosses; the desk has stopped and says why where it was opened
            reply = {"error": "The bench failed, and has stopped."}
        return answered(reply)

    return Server(
        "labference",
        version=labference.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=tools,
        on_call_tool=call,
    )


def answered(reply: dict[str, Any]) -> CallToolResult:
    """Return a reply as one text of JSON, in which images are numbered, and the images in this order."""
    images: list[ImageContent] = []

    def numbered(image: np.ndarray) -> dict[str, int]:
        data = base64.b64encode(png(image)).decode()
        images.append(ImageContent(type="image", data=data, mime_type="image/png"))
        return {"image": len(images)}

    text = json.dumps(dressed(reply, numbered), allow_nan=False)
    return CallToolResult(content=[TextContent(type="text", text=text), *images], is_error="error" in reply)


def serve_stdio(desk: Desk) -> None:
    """Serve one client over stdin and stdout until it goes away, in a thread that Ctrl-C leaves behind.

    Whoever reads stdin cannot be interrupted, so a loop in the main thread would not end before the client closes it.
    """
    gone: Future[None] = Future()

    async def run() -> None:
        made = server(desk)
        async with stdio_server() as (receive, send):
            await made.run(receive, send, made.create_initialization_options())

    def work() -> None:
        try:
            anyio.run(run)
        except BaseException as error:  # noqa: BLE001  # handed to whoever serves
            gone.set_exception(error)
        else:
            gone.set_result(None)

    threading.Thread(target=work, name="door", daemon=True).start()
    gone.result()


def serve_http(desk: Desk, token: str, listener: socket.socket) -> None:
    """Serve clients over streamable HTTP at /mcp of a listening socket, until the desk is over."""
    app = _guarded(server(desk).streamable_http_app(host=str(listener.getsockname()[0])), token)
    service = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))

    def stop() -> None:
        desk.over.wait()
        service.should_exit = True

    threading.Thread(target=stop, daemon=True).start()
    service.run(sockets=[listener])


def _guarded(app: ASGIApp, token: str) -> ASGIApp:
    """Let only requests pass that carry the token."""
    wanted = f"Bearer {token}".encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(given, wanted):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"The token is missing or wrong."})
            return
        await app(scope, receive, send)

    return guard
