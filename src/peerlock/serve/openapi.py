"""The OpenAPI description of the API, which is served beside it."""

from __future__ import annotations

from functools import cache
from typing import Any

from peerlock import __version__
from peerlock.serve.sessions import LEAST_TTL, MOST_TTL

ABOUT = """\
Distributed locks for programs in any language.  Every request that names a session renews
it; a session for which no request comes within its time to live has ended, and its locks
are released.  Count your own deadline from before you sent the last request that was
answered.  A fence is an integer below 2^53 that grows from grant to grant: let the store
that you protect refuse lower ones."""

SECONDS = {"type": "number", "minimum": 0}
LOCK = {
    "type": "object",
    "required": ["key", "name", "state"],
    "properties": {
        "key": {"type": "string"},
        "name": {"type": "string"},
        "state": {"enum": ["waiting", "held", "refused", "busy", "lost", "released"]},
        "fence": {"type": "integer", "minimum": 1, "maximum": 2**53 - 1},
        "error": {"type": "string", "description": "Why it is refused."},
    },
}
SESSION = {
    "type": "object",
    "required": ["session", "ttl", "label", "tied", "locks"],
    "properties": {
        "session": {"type": "string", "description": "Its id, which is a secret."},
        "ttl": {"type": "number", "minimum": LEAST_TTL, "maximum": MOST_TTL},
        "label": {"type": "string"},
        "tied": {"type": "boolean"},
        "locks": {"type": "array", "items": {"$ref": "#/components/schemas/Lock"}},
    },
}
OPENING = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "ttl": {**SESSION["properties"]["ttl"], "default": 10},  # type: ignore[index]
        "label": {"type": "string", "maxLength": 100},
        "tied": {
            "type": ["boolean", "null"],
            "description": "Whether the session ends with the connection that opens it; "
            "by default, on a Unix socket only.",
        },
    },
}
ACQUIRING = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {"type": ["string", "null"], "description": "Of the lock; default: key."},
        "shared": {"type": "boolean", "default": False},
        "permits": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 0},
        "algorithm": {"type": ["string", "null"]},
        "nonblock": {"type": "boolean", "default": False},
        "wait": {
            "type": ["number", "null"],
            "minimum": 0,
            "description": "Seconds until the answer, at most half a time to live.",
        },
    },
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}},
}


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def content(schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"content": {kind: {"schema": schema}}}


def answer(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, **content(schema)}


def stream(words: str) -> dict[str, Any]:
    return {"description": words, **content({"type": "string"}, "text/event-stream")}


def operation(summary: str, answers: dict[str, Any], **more: Any) -> dict[str, Any]:
    default = {"default": answer("An error, in words.", ref("Error"))}
    return {"summary": summary, "responses": {**answers, **default}, **more}


def parameter(name: str, where: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


ID = parameter("session", "path", {"type": "string"})
KEY = parameter("key", "path", {"type": "string", "minLength": 1, "maxLength": 1000})
WAIT = parameter("wait", "query", SECONDS)
EVENTS = (
    "Events: `session` with the session as it is; then `held`, `refused`, `busy` or `lost` "
    "with a lock; `end` with a reason."
)
STATES = {
    "200": answer("It is held.", ref("Lock")),
    "202": answer("It waits, and has its place: ask again.", ref("Lock")),
    "409": answer("The cluster uses the name on other terms.", ref("Lock")),
    "410": answer("It was lost: another process may hold it.", ref("Lock")),
    "423": answer("It is not free, and `nonblock` was asked for.", ref("Lock")),
}


def of_sessions() -> dict[str, Any]:
    opened = {"201": answer("It is open.", ref("Session")), "200": stream(EVENTS)}
    body = {"requestBody": content(ref("Opening"))}
    return {
        "/v1/sessions": {"post": operation("Open a session.", opened, **body)},
        "/v1/sessions/{session}": {
            "parameters": [ID],
            "get": operation(
                "The session, which is renewed.", {"200": answer("", ref("Session"))}
            ),
            "delete": operation(
                "End the session and release its locks.",
                {"200": answer("It is closed.", {"type": "object"})},
            ),
        },
        "/v1/sessions/{session}/renew": {
            "parameters": [ID],
            "post": operation("Renew it.", {"200": answer("", {"type": "object"})}),
        },
        "/v1/sessions/{session}/events": {
            "parameters": [ID],
            "get": operation(
                "What happens to the session's locks.", {"200": stream(EVENTS)}
            ),
        },
    }


def of_locks() -> dict[str, Any]:
    released = {"200": answer("It is released.", ref("Lock")), "410": STATES["410"]}
    body = {"requestBody": content(ref("Acquiring"))}
    return {
        "/v1/sessions/{session}/locks/{key}": {
            "parameters": [ID, KEY],
            "put": operation("Acquire a lock; repeat to wait on.", STATES, **body),
            "get": operation("The state of a lock.", STATES, parameters=[WAIT]),
            "delete": operation("Release it, or give up waiting.", released),
        }
    }


def of_the_cluster() -> dict[str, Any]:
    anything = {"200": answer("", {"type": "object"})}
    return {
        "/v1/status": {"get": operation("Members, holders and waiters.", anything)},
        "/v1/openapi.json": {"get": operation("This description.", anything)},
        "/healthz": {"get": operation("The server responds.", anything)},
    }


@cache
def description() -> dict[str, Any]:
    schemas = {
        "Session": SESSION,
        "Lock": LOCK,
        "Opening": OPENING,
        "Acquiring": ACQUIRING,
        "Error": ERROR,
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "peerlock", "version": __version__, "description": ABOUT},
        "security": [{"bearer": []}, {"certificate": []}, {}],
        "paths": {**of_sessions(), **of_locks(), **of_the_cluster()},
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "certificate": {"type": "mutualTLS"},
            },
        },
    }
