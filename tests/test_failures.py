"""What goes wrong, through the real client over loopback: the run goes on, or ends with one clear line."""

import functools
import re
import socket

import openai
import pytest

import nodes
from tests.loopback import completion, dropped_connection, error, http_answer, recorded_ends

FIRST, LAST = recorded_ends("die")
FIRST_TRACE = "Thought 1:\n  Understanding the problem.\n"


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


# A bad reply is asked for again


@pytest.mark.parametrize(
    "bad, reason",
    [
        pytest.param("I would rather talk.", "it has no YAML mapping", id="prose"),
        pytest.param(completion(""), "it is empty", id="empty"),
        pytest.param(completion(None), "it is empty", id="no content"),
        pytest.param(completion([{"type": "text"}]), "it is empty or not a text", id="no text"),
        pytest.param(completion(None, refusal="I can't help."), 'it is a refusal: "I can\'t help."', id="refusal"),
        pytest.param(completion(LAST, "content_filter"), "it was stopped by a content filter", id="filter"),
        pytest.param(completion(LAST[:900], "length"), "it was cut off at the model's output limit", id="cut off"),
        pytest.param(LAST.replace("status: Done", "status: Finished"), "has the status 'Finished'", id="status"),
        pytest.param(
            LAST.replace("|-\n      Conclusion", r'"$\frac{1}{2}$"'), r"control character '\x0c'", id="escape"
        ),
    ],
)
def test_a_rejected_reply_is_asked_for_again_with_the_reason(serve, run, bad, reason):
    endpoint = serve(FIRST, bad, LAST)
    result = run()
    assert (result.status, len(endpoint.requests)) == (0, 3)
    rejected, again = endpoint.prompts[1:]
    assert again.startswith(rejected.rstrip("\n"))
    assert reason in again.removeprefix(rejected.rstrip("\n"))
    assert one_line(result.err)
    assert result.err.startswith("Thought 2: ") and reason in result.err
    assert re.findall(r"^Thought (\d+)", result.out, re.MULTILINE) == ["1", "2"]


def test_three_rejected_replies_end_the_run_with_the_last_one(serve, run):
    bad = ["One.", "Two.", completion("planning:\n- cut off here \x1b[31m", "length")]
    endpoint = serve(FIRST, *bad)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 4)
    assert FIRST_TRACE in result.out and "Thought 2" not in result.out
    assert result.err.count("asking again") == 2
    assert result.err.endswith(
        "Thought 2: every reply was rejected, the last because it was cut off at the model's output limit:"
        " write a shorter one:\nplanning:\n- cut off here \\x1b[31m\n"
    )


def test_three_replies_without_content_end_the_run_without_a_none(serve, run):
    serve(*[completion(None)] * 3)
    result = run()
    assert result.status == 1
    assert result.err.endswith("the last because it is empty or not a text:\n\n")


# Failures that no other reply can mend


@pytest.mark.parametrize(
    "answer, message",
    [
        pytest.param(
            error(401, "Incorrect API key provided: sk-l***al."),
            "401: Incorrect API key provided: sk-l***al. Check",
            id="key",
        ),
        pytest.param(error(404, "The model `x` does not exist."), "The model `x` does not exist.", id="model"),
        pytest.param(error(400, "This model's maximum context is 8192."), "maximum context is 8192.", id="too long"),
        pytest.param(error(403, "Your country is not supported."), "Your country is not supported.", id="forbidden"),
        pytest.param(http_answer('{"error": "model \'x\' not found"}', 404), "model 'x' not found", id="error as text"),
        pytest.param(http_answer('{"detail": "Not Found"}', 404), "Not Found", id="detail"),
        pytest.param(http_answer("404 page not found", 404, "text/plain"), "404 page not found", id="plain text"),
        pytest.param(http_answer("<html>No.</html>", 404, "text/html"), "OpenAI-compatible API", id="HTML with 404"),
        pytest.param(http_answer("<!DOCTYPE html>", 200, "text/html"), "OpenAI-compatible API", id="HTML"),
        pytest.param(http_answer("<html>"), "OpenAI-compatible API", id="HTML sent as JSON"),
        pytest.param(http_answer("[" * 100_000), "OpenAI-compatible API", id="JSON too deep"),
        pytest.param(http_answer("\udcff\udcfe\udcfa"), "OpenAI-compatible API", id="no text"),
        pytest.param(http_answer(""), "OpenAI-compatible API", id="an empty body"),
        pytest.param(http_answer("{}"), "no chat completion", id="an empty object"),
        pytest.param(http_answer("[1]"), "no chat completion", id="a list"),
        pytest.param(http_answer("null"), "no chat completion", id="null"),
        pytest.param(http_answer('{"choices": [{}]}'), "no chat completion", id="no message"),
        pytest.param(http_answer('{"error": {"message": "No credits."}}'), "No credits.", id="an error sent with 200"),
    ],
)
def test_what_the_provider_refuses_ends_the_run_after_one_request(serve, run, answer, message):
    endpoint = serve(FIRST, answer)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 2)
    assert FIRST_TRACE in result.out
    assert one_line(result.err)
    assert message in result.err and endpoint.url in result.err


@pytest.mark.parametrize(
    "answer, message",
    [
        pytest.param(
            error(429, "You exceeded your current quota.", "insufficient_quota"), "your current quota", id="quota"
        ),
        pytest.param(error(500, "The server had an error."), "The server had an error.", id="500"),
        pytest.param(dropped_connection, "No answer from", id="dropped"),
    ],
)
def test_what_does_not_pass_ends_the_run_after_the_tries_of_the_client(serve, run, answer, message):
    endpoint = serve(*[answer] * 9)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 1 + openai.DEFAULT_MAX_RETRIES)
    assert one_line(result.err) and message in result.err


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(error(429, "Rate limit reached."), id="rate limit"),
        pytest.param(error(500, "The server had an error."), id="500"),
        pytest.param(error(503, "Overloaded."), id="503"),
        pytest.param(dropped_connection, id="dropped connection"),
    ],
)
def test_what_the_client_mends_is_not_seen(serve, run, answer):
    endpoint = serve(FIRST, answer, LAST)
    result = run()
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", 3)


def test_nobody_listening_is_said_with_the_address(run, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        address = f"http://127.0.0.1:{closed_again.getsockname()[1]}/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    result = run()
    assert result.status == 1
    assert one_line(result.err) and address in result.err and "refused" in result.err


def test_a_server_that_never_answers_is_ended_by_the_timeout_of_the_client(serve, run, monkeypatch):
    endpoint = serve()
    endpoint.answers = [endpoint.silence] * 9
    monkeypatch.setattr(openai, "OpenAI", functools.partial(openai.OpenAI, timeout=0.1))
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 1 + openai.DEFAULT_MAX_RETRIES)
    assert one_line(result.err) and "timed out" in result.err


@pytest.mark.parametrize(
    "address",
    ["localhost:11434/v1", "http://localhost:port/v1", "http:///v1", "ftp://localhost", "http://localhost/v1\r"],
)
def test_a_base_url_that_is_no_address_is_named(run, monkeypatch, address):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    result = run()
    assert result.status == 1
    assert one_line(result.err) and repr(address) in result.err


def test_without_key_and_base_url_both_ways_out_are_said(run):
    result = run()
    assert result.status == 1
    assert one_line(result.err)
    assert "OPENAI_API_KEY is not set" in result.err and "OPENAI_BASE_URL" in result.err


@pytest.mark.parametrize("key", [None, ""])
def test_a_base_url_needs_no_key(serve, run, monkeypatch, key):
    endpoint = serve(FIRST, LAST)
    monkeypatch.delenv("OPENAI_API_KEY") if key is None else monkeypatch.setenv("OPENAI_API_KEY", key)
    assert run().status == 0
    assert endpoint.requests[0]["headers"]["Authorization"] == "Bearer none"


@pytest.mark.parametrize("key", ["“sk-secret”", "sk-secret\n", "sk-secret sk-other"])
def test_a_key_that_cannot_be_sent_is_said_but_not_shown(serve, run, monkeypatch, key):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    result = run()
    assert (result.status, endpoint.requests) == (1, [])
    assert one_line(result.err)
    assert "OPENAI_API_KEY" in result.err and "secret" not in result.err


def test_a_password_in_the_base_url_is_not_shown(run, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:secret@127.0.0.1:1/v1")
    result = run()
    assert result.status == 1
    assert "http://127.0.0.1:1/v1" in result.err and "secret" not in result.err


@pytest.mark.parametrize(
    "name, value",
    [("OPENAI_ORG_ID", "é"), ("ALL_PROXY", "socks5://127.0.0.1:1"), ("ALL_PROXY", "ftp://127.0.0.1:1")],
)
def test_a_variable_that_the_client_cannot_use_is_not_blamed_on_the_server(serve, run, monkeypatch, name, value):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setenv(name, value)
    result = run()
    assert (result.status, endpoint.requests) == (1, [])
    assert one_line(result.err) and "The OpenAI client does not work" in result.err


# The loop


@pytest.mark.parametrize("limit", [1, 3])
def test_a_run_without_conclusion_stops_at_the_thought_limit(serve, run, limit):
    endpoint = serve(*[FIRST] * 9)
    result = run("--max-thoughts", str(limit))
    assert (result.status, len(endpoint.requests)) == (1, limit)
    told = ["this is the last thought" in prompt for prompt in endpoint.prompts]
    assert told == [False] * (limit - 1) + [True]
    assert f"Thought {limit}:\n" in result.out and "FINAL SOLUTION" not in result.out
    assert one_line(result.err)
    assert f"limit of thoughts is {limit}" in result.err and "--max-thoughts" in result.err


def test_a_conclusion_on_the_last_allowed_thought_counts(serve, run):
    serve(FIRST, LAST)
    assert run("--max-thoughts", "2").status == 0


# Bugs


@pytest.mark.parametrize("bug", [TypeError("a bug"), AssertionError("a bug"), ValueError("a bug")])
def test_a_bug_of_ours_is_not_swallowed(serve, run, monkeypatch, bug):
    def format_thought(thought):
        raise bug

    serve(FIRST, LAST)
    monkeypatch.setattr(nodes, "format_thought", format_thought)
    with pytest.raises(type(bug), match="a bug"):
        run()
