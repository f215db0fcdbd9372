#!/usr/bin/env python3
"""Writes what the client takes from the OpenAPI document, and the sync client from the async one.

    python generate.py                 # from the document of this repository
    python generate.py openapi.json    # from another one, such as a server's /openapi.json

It needs nothing but Python. The answers are TypedDicts: they cost nothing at run time, and fields
that a newer server adds break nobody.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "reverie_memory"
DOCUMENT = HERE / "../../internal/api/rest/testdata/openapi.golden.json"
NOTE = "# Written by generate.py from {}. Do not edit.\n"

# Operations that a method written by hand serves.
BY_HAND = {
    "add-messages": "remember",
    "get-context": "context",
    "make-context": "context",
    "give-feedback": "feedback",
    "search-memories": "search",
    "list-memories": "memories",
    "list-entities": "entities",
    "evolve-group": "evolve",
    "edit-message": "edit_message",
    "delete-message": "delete_message",
    "get-author-memories": "what_about",
    "forget-author": "forget",
}

# Operations that the client leaves out on purpose, each with the reason. `request` reaches them.
LEFT_OUT: dict[str, str] = {}

Schema = dict[str, Any]


def main() -> None:
    document = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENT
    for path, text in generate(json.loads(document.read_text("utf-8"))).items():
        path.write_text(text, "utf-8")


def generate(document: Schema) -> dict[Path, str]:
    """The text of each generated file."""
    operations = async_operations(document)
    ours = (PACKAGE / "_async.py").read_text("utf-8")
    return {
        PACKAGE / "models.py": models(document["components"]["schemas"]),
        PACKAGE / "_operations.py": NOTE.format("the OpenAPI document") + operations,
        PACKAGE / "_operations_sync.py": NOTE.format("_operations.py") + synchronous(operations),
        PACKAGE / "_sync.py": NOTE.format("_async.py") + synchronous(ours),
    }


# --- models ---


def models(schemas: dict[str, Schema]) -> str:
    out = [NOTE.format("the OpenAPI document"), '"""What the server takes and answers, field by field."""\n\n']
    out.append("from __future__ import annotations\n\nfrom typing import Any, Literal, TypedDict\n")
    for name in sorted(schemas):
        out.append("\n\n" + model(name, schemas[name]))
    # Which of the imports are used depends on the document.
    text = "".join(out)
    imports = [n for n in ("Any", "Literal", "TypedDict") if re.search(rf"\b{n}\b", text.split("\n\n\n", 1)[1])]
    return text.replace("from typing import Any, Literal, TypedDict", "from typing import " + ", ".join(imports))


def model(name: str, schema: Schema) -> str:
    """A class; of its fields those that may be absent stand in a class below a base with the others."""
    properties: dict[str, Schema] = schema.get("properties", {})
    required = [p for p in properties if p in schema.get("required", [])]
    optional = [p for p in properties if p not in required]
    if any(keyword.iskeyword(p) or not p.isidentifier() for p in properties):
        return by_call(name, properties, required, optional)
    text, base, total = "", "TypedDict", ""
    if required and optional:
        text += f"class _{name}(TypedDict):\n" + fields(properties, required) + "\n\n"
        base = f"_{name}"
    if optional:
        total = ", total=False"
    return text + f"class {name}({base}{total}):\n" + (fields(properties, optional or required) or "    pass\n")


def by_call(name: str, properties: dict[str, Schema], required: list[str], optional: list[str]) -> str:
    """The form for fields whose names are words of Python."""

    text = f'_{name} = TypedDict(\n    "_{name}",\n'
    text += "    {\n" + "".join(f"        {p!r}: {python(properties[p])!r},\n" for p in required).replace("'", '"')
    text += "    },\n)\n\n\n"
    if not optional:
        return text.replace(f"_{name}", name).rstrip("\n") + "\n"
    plain = [p for p in optional if not keyword.iskeyword(p) and p.isidentifier()]
    if plain != optional:
        raise SystemExit(f"{name}: an optional field is a word of Python; teach by_call to write it")
    return text + f"class {name}(_{name}, total=False):\n" + fields(properties, optional)


def fields(properties: dict[str, Schema], names: list[str]) -> str:
    text = ""
    for name in names:
        text += f"    {name}: {python(properties[name])}\n"
        if note := properties[name].get("description"):
            text += doc(note, 4)
    return text


def python(schema: Schema) -> str:
    """The Python type of a schema."""
    if ref := schema.get("$ref"):
        return str(ref).rsplit("/", 1)[1]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return unite([python(s) for s in schema[union]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return unite([python({**schema, "type": k}) for k in kind])
    if "enum" in schema:
        return "Literal[" + ", ".join(json.dumps(e) for e in schema["enum"]) + "]"
    if kind == "array":
        return f"list[{python(schema.get('items', {}))}]"
    if kind == "object" or "additionalProperties" in schema:
        values = schema.get("additionalProperties")
        return f"dict[str, {python(values) if isinstance(values, dict) else 'Any'}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(
        str(kind), "Any"
    )


def unite(types: list[str]) -> str:
    return " | ".join(dict.fromkeys(sorted(types, key=lambda t: t == "None")))


def doc(note: str, indent: int) -> str:
    """A text as a docstring, wrapped."""
    note = " ".join(note.replace("\\", "\\\\").split()).replace('"""', "'''")
    if note.endswith('"'):
        note += " "
    pad = " " * indent
    if len(pad) + len(note) + 6 <= 120:
        return f'{pad}"""{note}"""\n'
    lines = [""]
    for word in note.split(" "):
        if lines[-1] and len(pad) + len(lines[-1]) + 1 + len(word) > 112:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return f'{pad}"""' + f"\n{pad}".join(lines) + f'\n{pad}"""\n'


# --- operations ---


def each_operation(document: Schema) -> list[tuple[str, str, str, Schema]]:
    """Name, method, path and operation of all, by name."""
    found = [
        (operation["operationId"], method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    return sorted(found, key=lambda f: f[0])


def method_name(operation_id: str) -> str:
    """What the client's method for an operation is called."""
    return BY_HAND.get(operation_id, operation_id.replace("-", "_"))


def async_operations(document: Schema) -> str:
    methods = [
        operation_method(*found) for found in each_operation(document) if found[0] not in {**BY_HAND, **LEFT_OUT}
    ]
    body = "\n".join(methods)
    head = '''
"""A method for each operation of the server that the client does not serve in a way of its own."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from typing import Any, Literal, TypeVar

from . import models
from ._core import Body, Call, Time, path_of

T = TypeVar("T")


class AsyncOperations(ABC):
    """What the server does, one method an operation."""

    @abstractmethod
    async def _send(self, call: Call[T], timeout: float | None = None) -> T: ...

    @abstractmethod
    def _group(self, group: str | None) -> str: ...

'''
    for name in ("Any", "Literal", "Body", "Time"):
        if not re.search(rf"\b{name}\b", body):
            head = re.sub(rf"\b{name}, |, {name}\b", "", head)
    if "uuid." not in body:
        head = head.replace("import uuid\n", "")
    return head + body


def operation_method(operation_id: str, method: str, path: str, operation: Schema) -> str:
    signature = ["self"]
    query: list[str] = []
    headers: list[str] = []
    keywords: list[str] = []
    arguments: dict[str, str] = {}
    for p in operation.get("parameters", []):
        schema, name = p["schema"], argument(p["name"])
        if schema.get("deprecated") or p.get("deprecated"):
            continue
        if p["name"] == "group_id" and p["in"] == "path":
            keywords.append("group: str | None = None")
            arguments["group_id"] = "self._group(group)"
            continue
        if p["in"] == "path":
            signature.append(f"{name}: str")
            arguments[p["name"]] = name
            continue
        kind = "Time" if schema.get("examples") == ["2026-01-15T12:30:00Z"] else python(schema)
        if p.get("required"):
            signature.append(f"{name}: {kind}")
        else:
            keywords.append(f"{name}: {kind} | None = None")
        value = f"{name} or str(uuid.uuid4())" if p["name"] == "Idempotency-Key" else name
        (query if p["in"] == "query" else headers).append(f'"{p["name"]}": {value}')
    body = operation.get("requestBody")
    if body:
        kind = "models." + python(body["content"]["application/json"]["schema"])
        signature.append(f"body: {kind}" + ("" if body.get("required") else " | None = None"))
    parameters = [*signature, "*", *keywords, "timeout: float | None = None"]
    answers = [
        python(content["application/json"]["schema"])
        for status, answer in operation["responses"].items()
        if status.startswith("2") and (content := answer.get("content")) and "application/json" in content
    ]
    answer = " | ".join(f"models.{a}" for a in dict.fromkeys(answers)) or "None"
    call = [f'"{method}"', f'path_of("{path}"' + "".join(f", {v}" for v in arguments.values()) + ")"]
    if query:
        call.append("query={" + ", ".join(query) + "}")
    if headers:
        call.append("headers={\n" + "".join(f"                {h},\n" for h in headers) + "            }")
    if body:
        call.append("body=Body(body)")
    # What only reads may be sent again, and so may what puts or takes away.
    if method not in ("GET", "PUT", "DELETE"):
        call.append("idempotent=False")
    text = f"    async def {method_name(operation_id)}(\n"
    text += "".join(f"        {p},\n" for p in parameters) + f"    ) -> {answer}:\n"
    text += doc(f"{operation.get('summary', operation_id)}. {operation.get('description', '')}".strip(), 8)
    text += f"        call: Call[{answer}] = Call(\n" + "".join(f"            {c},\n" for c in call) + "        )\n"
    return text + "        return await self._send(call, timeout)\n"


def argument(name: str) -> str:
    name = re.sub(r"\W", "_", name).lower()
    return name + "_" if keyword.iskeyword(name) else name


# --- sync from async ---

SYNC = [
    (r"\basync (def|for|with) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\b__aiter__\b", "__iter__"),
    (r"\baclos(e|ing)\b", r"clos\1"),
    (r"\b_operations\b", "_operations_sync"),
    (r"\bAsync(Reverie|Client|Operations|Iterator|BaseTransport)\b", r"\1"),
    (r"\beach_async\b", "each"),
    (r"\bAnyMessages\b", "Messages"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bimport asyncio\b", "import time"),
    (r"\bAwaitable\[None\]", "None"),
]


def synchronous(text: str) -> str:
    for pattern, by in SYNC:
        text = re.sub(pattern, by, text)
    return text


if __name__ == "__main__":
    main()
