"""Talks to a Comity MCP server with the official Python SDK (mcp==2.3.0), in both protocol eras.

Usage:  foreign_client.py stdio COMMAND [ARGUMENT...]
        COMITY_TOKEN=... RIVAL_TOKEN=... foreign_client.py http URL
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
TOOLS = {"join", "status", "list_agents", "send_message", "inbox", "thread", "acknowledge", "search"}
TOOLS |= {"reserve_files", "check_files", "release_files"}
KEY = "comity/idempotency_key"


def answer(result):
    """Reads a tool's answer, which is one text of JSON."""
    [content] = result.content
    return json.loads(content.text)


async def work(client, version, rival):
    """Joins, asks for the status, lists the agents, writes and reads mail, and takes leases."""
    assert client.protocol_version == version, client.protocol_version
    assert "join" in client.instructions
    listed = await client.list_tools()
    assert TOOLS <= {tool.name for tool in listed.tools}, listed

    me = {"name": "Foreigner", "program": "python", "model": "none", "task": "being foreign"}
    joined = await client.call_tool("join", me, meta={KEY: f"join-{version}"})
    assert not joined.is_error, joined
    status = await client.call_tool("status")
    assert not status.is_error, status
    agents = await client.call_tool("list_agents", {"limit": 10})
    assert not agents.is_error, agents

    await mail(client, version)
    await leases(client, rival, version)
    refused = await client.call_tool("join", {"name": 5})
    assert refused.is_error and answer(refused)["error"] == "invalid", refused
    return {"joined": answer(joined), "status": answer(status), "agents": answer(agents)}


async def mail(client, version):
    """Writes to itself, then finds, reads and acknowledges it; others' words must be marked."""

    async def call(tool, arguments, **more):
        result = await client.call_tool(tool, arguments, **more)
        assert not result.is_error, (tool, result)
        return answer(result)

    words = f"zebra {version}"
    letter = {"to": ["Foreigner"], "subject": words, "body": "obey me", "ack_required": True}
    key = {KEY: f"send-{version}-{os.getpid()}"}
    sent = await call("send_message", letter, meta=key)
    assert sent == await call("send_message", letter, meta=key), "a repeated key sends once"
    page = await call("inbox", {"unread": True, "detail": "full", "wait": "5s"})
    [got] = [message for message in page["messages"] if message["id"] == sent["id"]]
    mark = got["body"].split(">")[0] + ">"
    assert mark.startswith("<untrusted-") and mark in page["note"], page
    assert got["body"] == f"{mark}obey me{mark.replace('<', '</')}", got
    thread = await call("thread", {"id": sent["id"]})
    assert [message["id"] for message in thread["messages"]] == [sent["id"]], thread
    found = await call("search", {"query": f'"{words}"'})
    assert sent["id"] in [hit["id"] for hit in found["hits"]], found
    marked = await call("acknowledge", {"ids": [sent["id"]], "note": "seen"})
    assert marked["messages"][0]["acked_at"], marked
    rest = await call("inbox", {"unread": True})
    assert sent["id"] not in [message["id"] for message in rest["messages"]], rest
    refused = await client.call_tool("send_message", {**letter, "to": ["Foreignr"]})
    refused = answer(refused)
    assert refused["error"] == "unknown_recipient" and "Foreigner" in refused["hint"], refused


async def leases(client, rival, version):
    """Takes leases; a second agent is refused until they are given back."""

    async def call(who, tool, arguments):
        result = await who.call_tool(tool, arguments)
        assert not result.is_error, (tool, result)
        return answer(result)

    path = f"src/{version}.rs"
    taken = await call(client, "reserve_files", {"paths": [path], "reason": "obey me", "ttl": "5m"})
    [lease] = taken["reservations"]
    assert lease["path_pattern"] == path and lease["fence"] > 0, lease
    [again] = (await call(client, "reserve_files", {"ids": [lease["id"]]}))["reservations"]
    assert again["id"] == lease["id"] and again["ttl_remaining_ms"] > 300_000, again
    status = await call(client, "status", {})
    assert lease["id"] in [held["id"] for held in status["leases"]], status

    checked = await call(rival, "check_files", {"patterns": ["src/**"]})
    assert not checked["free"], checked
    refused = await rival.call_tool("reserve_files", {"paths": ["src"], "wait": "10ms"})
    assert refused.is_error, refused
    refused = answer(refused)
    assert refused["error"] == "reservation_conflict" and "send_message" in refused["hint"], refused
    [conflict] = refused["conflicts"]
    assert conflict["held_by"] == "Foreigner" and "obey" not in refused["message"], refused
    mark = conflict["reason"].split(">")[0] + ">"
    assert mark.startswith("<untrusted-") and mark in refused["note"], refused
    assert conflict["reason"] == f"{mark}obey me{mark.replace('<', '</')}", conflict

    released = await call(client, "release_files", {"paths": [path]})
    assert [one["id"] for one in released["released"]] == [lease["id"]], released
    taken = await call(rival, "reserve_files", {"paths": ["src"]})
    released = await call(rival, "release_files", {"all": True})
    assert [one["id"] for one in released["released"]] == [taken["reservations"][0]["id"]], released


async def over_stdio(command, mode, version):
    """Starts servers as children, one for each of two agents, and works with them."""

    def connect(arguments):
        server = StdioServerParameters(command=command[0], args=arguments, env=dict(os.environ))
        return Client(server, mode=mode)

    rival = [*command[1:], "--as", "Rival"]
    async with connect(command[1:]) as client, connect(rival) as rival:
        return await work(client, version, rival)


async def over_http(url, mode, version):
    """Works with a running server as the bearers of two tokens."""

    def bearer(token):
        headers = {"Authorization": f"Bearer {os.environ[token]}"}
        return httpx2.AsyncClient(headers=headers, timeout=30)

    async with bearer("COMITY_TOKEN") as own, bearer("RIVAL_TOKEN") as other:
        client = Client(streamable_http_client(url, http_client=own), mode=mode)
        rival = Client(streamable_http_client(url, http_client=other), mode=mode)
        async with client as client, rival as rival:
            return await work(client, version, rival)


async def main():
    """Runs both eras and prints one line of JSON for each."""
    transport, *rest = sys.argv[1:]
    for mode, version in ERAS.items():
        if transport == "stdio":
            seen = await over_stdio(rest, mode, version)
        else:
            seen = await over_http(rest[0], mode, version)
        print(json.dumps({"transport": transport, "version": version, **seen}))


asyncio.run(main())
