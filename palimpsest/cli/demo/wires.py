"""The bodies that the demonstration's judge answers with, by the path of each protocol."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import orjson

from palimpsest.cli.demo.rules import answer, relation, same

Request = dict[str, Any]
Body = dict[str, Any]

BYTES_A_TOKEN = 4
"""A rough estimate, so that the costs of answers look realistic."""
SURE = 0.96
"""The probability that is given to the rules' answer."""
_PIECE = re.compile(r"[A-Za-z]+|[^A-Za-z]+")


def message(request: Request) -> Body:
    """An answer of the Messages API: a call of the tool."""
    tool = request["tools"][0]
    given = answer(tool, orjson.loads(request["messages"][0]["content"]))
    return {
        "id": "msg_demo",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [{"type": "tool_use", "id": "toolu_demo", "name": tool["name"], "input": given}],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": _tokens(request["messages"][0]["content"]),
            "output_tokens": _tokens(given),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": _tokens([request["system"], request["tools"]]),
        },
    }


def completion(request: Request) -> Body:
    """An answer of Chat Completions: JSON, with the probabilities of its tokens if requested."""
    system, user = (one["content"] for one in request["messages"])
    form = request["response_format"]["json_schema"]
    tool = {"name": form["name"], "input_schema": form["schema"]}
    content = orjson.dumps(answer(tool, orjson.loads(user))).decode()
    logprobs = {"content": [*_logprobs(content)], "refusal": None}
    return {
        "id": "chatcmpl-demo",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": None},
                "logprobs": logprobs if request.get("logprobs") else None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": _tokens(system) + _tokens(user),
            "completion_tokens": _tokens(content),
            "total_tokens": _tokens(system) + _tokens(user) + _tokens(content),
            "prompt_tokens_details": {"cached_tokens": _tokens(system)},
        },
    }


def decision(request: Request) -> Body:
    """An answer of the Decisions API: a list, in the order of the questions."""
    pairs = _pairs(request["input"][-1]["content"])
    answers: list[Body] = []
    for question in request["questions"]:
        pair = _pair_of(question["name"], pairs)
        if question["type"] == "predicate":
            probability = _probability(pair, request["questions"][0]["choices"])
            one: Body = {"probability": probability}
        else:
            labels = [choice["value"] for choice in question["choices"]]
            chosen, probabilities = _chosen(pair, labels)
            listed = [{"value": k, "probability": v} for k, v in probabilities.items()]
            one = {"choice": chosen, "confidence": SURE, "probabilities": listed}
        answers.append({"type": question["type"], "name": question["name"], **one})
    read, written = _tokens(request["input"]), len(answers)
    return {
        "model": request["model"],
        "answers": answers,
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
    }


def system_one(request: Request) -> Body:
    """An answer of the System One API: a map by the names of the questions."""
    pairs = _pairs(request["state"]["memories"])
    labels = [*next(q["criteria"] for q in request["questions"].values() if "criteria" in q)]
    answers: dict[str, Body] = {}
    for name, question in request["questions"].items():
        pair = _pair_of(name, pairs)
        if question["type"] == "noul":
            answers[name] = {"type": "noul", "noul": _probability(pair, labels)}
        else:
            chosen, probabilities = _chosen(pair, labels)
            answers[name] = {
                "type": "choice",
                "choice": chosen,
                "confidence": SURE,
                "probabilities": probabilities,
            }
    usage = {"input_tokens": _tokens(request["state"]), "output_tokens": len(answers)}
    return {"model": request["model"], "answers": answers, "usage": usage}


WIRES: Mapping[str, Callable[[Request], Body]] = {
    "/v1/messages": message,
    "/v1/chat/completions": completion,
    "/v1/decisions": decision,
    "/v1/systemone": system_one,
    "/v2/systemone": system_one,
}


_BEDROCK = re.compile(r"/model/(?P<model>[^/]+)/invoke")
_VERTEX = re.compile(
    r"/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<model>[^/]+):rawPredict"
)


def routed(path: str, request: Request) -> tuple[str, Request]:
    """The protocol's path, and the request with its model, which platforms put into the path."""
    found = _BEDROCK.fullmatch(path) or _VERTEX.fullmatch(path)
    if found is None:
        return path, request
    return "/v1/messages", {**request, "model": unquote(found["model"])}


def error(path: str, status: int, kind: str, text: str) -> Body:
    """The body of an error in the form of the path's protocol."""
    if path.endswith("/systemone"):
        return {"detail": [{"loc": ["body"], "msg": text, "type": kind}]}
    if path.endswith("/messages"):
        return {"type": "error", "error": {"type": kind, "message": text}}
    return {"error": {"message": text, "type": kind, "param": None, "code": str(status)}}


def _pairs(payload: str) -> dict[str, Any]:
    return {str(pair["pair"]): pair for pair in orjson.loads(payload)["pairs"]}


def _pair_of(name: str, pairs: Mapping[str, Any]) -> Any:
    return pairs[name.rpartition("_")[2]]


def _chosen(pair: Any, labels: list[str]) -> tuple[str, dict[str, float]]:
    """The label that the rules choose, with the probability of each."""
    two = pair["older"]["text"], pair["newer"]["text"]
    said = relation(*two) if "newer_replaces" in labels else same(*two)
    label = {"update": "newer_replaces", "compose": "different"}.get(said, said)
    rest = (1 - SURE) / (len(labels) - 1)
    return label, {one: SURE if one == label else rest for one in labels}


def _probability(pair: Any, labels: Any) -> float:
    chosen, _ = _chosen(
        pair, [label["value"] if isinstance(label, dict) else label for label in labels]
    )
    return SURE if chosen == "same" else 1 - SURE


def _logprobs(content: str) -> Iterator[dict[str, Any]]:
    """Tokens of the content, each with *same* as an alternative; that of *same* is *different*."""
    for piece in _PIECE.findall(content):
        other = "same" if piece != "same" else "different"
        listed = [(piece, SURE), (other, 1 - SURE)]
        yield {
            "token": piece,
            "bytes": [*piece.encode()],
            "logprob": math.log(SURE),
            "top_logprobs": [
                {"token": one, "bytes": [*one.encode()], "logprob": math.log(p)}
                for one, p in listed
            ],
        }


def _tokens(value: Any) -> int:
    text = value.encode() if isinstance(value, str) else orjson.dumps(value)
    return len(text) // BYTES_A_TOKEN
