"""What goes wrong, through the real client: the run goes on, or ends with one clear line."""

import re
import socket

import pytest

import nodes
from tests.conftest import saved_runs
from tests.loopback import completion, cut_body, dropped_connection, error, http_answer, reply
from utils import call_llm

FIRST, LAST = reply(), reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False)


def says_how_to_go_on(text):
    return text.endswith(f" To go on: python main.py --resume --run {saved_runs()[0]}\n")


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


# A bad reply is asked for again


@pytest.mark.parametrize(
    "bad, reason, is_shown",
    [
        pytest.param("I would rather talk.", "it has no YAML block", True, id="prose"),
        pytest.param(LAST.replace("status: Done", "status: Finished"), "is 'Finished', not", True, id="status"),
        pytest.param(FIRST.replace("true", "false"), "the step 'Conclusion' is not Done", True, id="stops early"),
        pytest.param(completion(""), "it is empty", False, id="empty"),
        pytest.param(completion(None), "it is empty", False, id="no content"),
        pytest.param(completion("I can't.", refusal="I can't help."), "it is a refusal: I can't help", False, id="refusal"),
        pytest.param(completion(LAST, "content_filter"), "it was stopped by a content filter", False, id="filter"),
        pytest.param(completion(LAST, "MAX_TOKENS"), "it was cut off at", False, id="cut off, in other words"),
        pytest.param(completion(LAST[:90], "length"), "it was cut off at the model's output limit: write less in one reply", False, id="cut off"),
    ],
)
def test_a_rejected_reply_is_asked_for_again_with_the_reason(serve, run, bad, reason, is_shown):
    endpoint = serve(FIRST, bad, LAST)
    result = run()
    assert (result.status, len(endpoint.requests)) == (0, 3)
    first_try, second_try = (prompt.rstrip("\n") for prompt in endpoint.prompts[1:])
    assert second_try.startswith(first_try)
    appended = second_try.removeprefix(first_try)
    assert reason in appended
    assert (isinstance(bad, str) and bad.rstrip("\n") in appended) == is_shown
    assert one_line(result.err)
    assert result.err.startswith("Thought 2: ") and reason in result.err and "Asking again" in result.err
    assert re.findall(r"^Thought (\d+)", result.out, re.MULTILINE) == ["1", "2"]


def test_a_rejection_is_forgotten_with_its_thought(serve, run):
    endpoint = serve("nonsense", FIRST, LAST)
    run()
    assert ["was rejected" in prompt for prompt in endpoint.prompts] == [False, True, False]


def test_three_rejected_replies_end_the_run_with_the_reason_and_the_reply(serve, run):
    endpoint = serve(FIRST, "One.", "Two.", completion("planning: cut o", "length"))
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 4)
    assert "Thought 1:\n" in result.out and "Thought 2:\n" not in result.out
    assert endpoint.prompts[3].endswith("\n\nTwo.\n") and "One." not in endpoint.prompts[3]
    assert result.err.count("Asking again") == 2
    raw_reply, message = result.err.split("Asking again.\n")[-1].split("\n\n")
    assert raw_reply == "The last reply:\nplanning: cut o"
    assert message.startswith("Thought 2: gave up after 3 rejected replies, the last because it was cut off at")
    assert "an edit of the prompt broke it; -v shows all replies" in message and says_how_to_go_on(message)


def test_a_text_in_parts_is_joined(serve, run):
    half = len(FIRST) // 2
    parts = [{"type": "thinking", "thinking": []}, *({"type": "text", "text": t} for t in (FIRST[:half], FIRST[half:]))]
    serve(completion(parts), LAST)
    assert run().status == 0


def test_half_a_character_in_a_reply_does_no_harm(serve, run):
    serve(FIRST.replace("work", "\ud83d"), LAST)
    assert run().status == 0


def test_a_thought_without_an_evaluation_is_taken_and_said(serve, run):
    serve(reply("Work."), reply("Evaluation of Thought 11: Correct - x"), reply("**Evaluation of Thought 2**: x"), LAST)
    result = run()
    assert (result.status, result.err) == (0, "Thought 2 does not evaluate Thought 1.\n")


# Failures that no other reply can mend


def content(content, usage="null"):
    return f'{{"choices": [{{"message": {{"content": {content}}}}}], "usage": {usage}}}'


@pytest.mark.parametrize(
    "answer, message",
    [
        pytest.param(error(401, "Incorrect API key: sk-l***al."), "Incorrect API key: sk-l***al. Check OPENAI_", id="key"),
        pytest.param(error(404, "The model `x` does not exist."), "The model `x` does not exist.", id="model"),
        pytest.param(error(400, "This model's maximum context is 8192."), "maximum context is 8192.", id="too long"),
        pytest.param(http_answer('{"error": "model \'x\' not found"}', 404), "model 'x' not found", id="error as text"),
        pytest.param(http_answer('{"detail": "Not Found"}', 404), "Not Found", id="detail"),
        pytest.param(http_answer("404 page not found", 404, "text/plain"), "404 page not found", id="plain text"),
        pytest.param(http_answer("<html>No.</html>", 404, "text/html"), "not an OpenAI-compatible API", id="HTML 404"),
        pytest.param(http_answer("<!DOCTYPE html>", 200, "text/html"), "not an OpenAI-compatible API", id="HTML 200"),
        pytest.param(http_answer("<html>"), "not an OpenAI-compatible API", id="HTML sent as JSON"),
        pytest.param(http_answer("<html>Denied", 403, "text/html"), "answered 403 with a web page", id="HTML 403"),
        pytest.param(http_answer(""), "was cut in the middle of the reply", id="an empty body"),
        pytest.param(http_answer("", 200, "text/plain"), "was cut in the middle of the reply", id="an empty body without type"),
        pytest.param(cut_body, "was cut in the middle of the reply", id="a cut body without length"),
        pytest.param(http_answer("{}"), "cannot be read. It begins: {}", id="an empty object"),
        pytest.param(http_answer("[1]"), "cannot be read. It begins: [1]", id="a list"),
        pytest.param(http_answer('{"choices": [{}]}'), 'cannot be read. It begins: {"choices": [{}]}', id="no message"),
        pytest.param(http_answer('{"error": {}}'), 'cannot be read. It begins: {"error": {}}', id="an error without words"),
        pytest.param(http_answer('{"choices": [{"message": "Hi."}]}'), "cannot be read. It begins", id="a message as text"),
        pytest.param(http_answer(content('{"text": "x"}')), "cannot be read. It begins", id="content as an object"),
        pytest.param(http_answer(content("42")), "cannot be read. It begins", id="content as a number"),
        pytest.param(http_answer(content('"x"', "[]")), "cannot be read. It begins", id="usage as a list"),
        pytest.param(http_answer(content('"\udcff"')), "cannot be read. It begins", id="not UTF-8"),
        pytest.param(http_answer("{}\n{}"), "cannot be read. It begins: {} {}", id="more than one object"),
        pytest.param(http_answer("", 204), "(204) cannot be read. It begins: (it is empty)", id="204"),
        pytest.param(http_answer('{"错误": "' + 999 * "很" + '"}', 400), 'answered 400: {"错误": "很很', id="400 in Chinese"),
        pytest.param(error(403, "No such key: sk-local."), "answered 403: No such key: ***.", id="the key repeated"),
        pytest.param(http_answer('{"error": "sk\\u002dlocal"}', 403), "answered 403: ***.", id="the key escaped"),
        pytest.param(http_answer('{"error": {"message": "No credits."}}'), "No credits.", id="an error with 200"),
        pytest.param(
            http_answer('{"choices": [{"error": {"message": "Gone."}, "message": {"content": ""}}]}'),
            "Gone.",
            id="an error in a choice",
        ),
        pytest.param(http_answer("[" * 100_000 + "]" * 100_000), "cannot be read. It begins: [[[", id="JSON too deep"),
    ],
)
def test_what_the_provider_refuses_ends_the_run_after_one_request(serve, run, answer, message):
    endpoint = serve(FIRST, answer)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 2)
    assert "Thought 1:\n" in result.out
    assert one_line(result.err) and says_how_to_go_on(result.err)
    assert message in result.err


QUOTA = error(429, "You exceeded your current quota.", "insufficient_quota")


@pytest.mark.parametrize(
    "answer, message",
    [
        pytest.param(QUOTA, "your current quota", id="quota"),
        pytest.param(error(500, "The server had an error."), "The server had an error.", id="500"),
        pytest.param(http_answer("<html>", 504, "text/html"), "504 with a web page: the server or a gateway", id="HTML"),
        pytest.param(http_answer("<html>", 429, "text/html"), "429 with a web page: the server or a gateway", id="HTML 429"),
        pytest.param(dropped_connection, "No answer from", id="dropped"),
    ],
)
def test_what_does_not_pass_ends_the_run_after_the_four_retries_of_the_client(serve, run, answer, message):
    endpoint = serve(*[answer] * 9)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 5)
    assert one_line(result.err) and message in result.err
    assert "To go on" not in result.err


@pytest.mark.parametrize(
    "answer", [error(429, "Rate limit reached."), error(500, "Oops."), error(503, "Overloaded."), dropped_connection]
)
def test_what_a_retry_of_the_client_mends_is_not_seen(serve, run, answer):
    endpoint = serve(FIRST, *[answer] * 4, LAST)
    result = run()
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", 6)


def test_a_server_that_never_answers_is_given_up_after_the_timeout(serve, run, monkeypatch):
    assert call_llm.REPLY_SECONDS == 3600
    endpoint = serve()
    endpoint.answers = [endpoint.silence] * 9
    monkeypatch.setattr(call_llm, "REPLY_SECONDS", 0.1)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 5)
    assert one_line(result.err) and "timed out" in result.err


# Addresses, keys and proxies


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        return closed_again.getsockname()[1]


@pytest.mark.parametrize("login", ["", "user:secret@"])
def test_nobody_listening_is_said_with_the_address(run, monkeypatch, closed_port, login):
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://{login}127.0.0.1:{closed_port}/v1/@team")
    monkeypatch.setenv("http_proxy", f"http://user:secret@127.0.0.1:{closed_port}")
    result = run()
    assert result.status == 1
    assert one_line(result.err) and "http://127.0.0.1" in result.err and "refused" in result.err
    assert "http_proxy" in result.err and "NO_PROXY" in result.err and "secret" not in result.err


@pytest.mark.parametrize(
    "name, value",
    [
        ("OPENAI_BASE_URL", "localhost:11434/v1"),
        ("OPENAI_BASE_URL", "http://localhost:port/v1"),
        ("OPENAI_BASE_URL", "http://localhost:99999/v1"),
        ("OPENAI_BASE_URL", "http:///v1"),
        ("OPENAI_BASE_URL", "ftp://localhost"),
        ("OPENAI_BASE_URL", "http://a..b/v1"),
        ("OPENAI_BASE_URL", "http://192.168.1.256:11434/v1"),
        ("OPENAI_BASE_URL", "http://[12345::1]/v1"),
        ("OPENAI_BASE_URL", "http://user:secret#1@localhost/v1"),
        ("OPENAI_BASE_URL", "http://user:secret/1@localhost/v1"),
        ("https_proxy", "http://user:secret#1@proxy:8080"),
        ("ALL_PROXY", "ftp://user:secret@127.0.0.1:1"),
        ("ALL_PROXY", "socks5://127.0.0.1:1"),
        ("SSL_CERT_FILE", "/secret"),
        ("OPENAI_ORG_ID", "é"),
    ],
)
def test_a_setting_that_the_client_cannot_use_is_named_but_not_shown(serve, run, monkeypatch, name, value):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setenv(name, value)
    result = run()
    assert (result.status, endpoint.requests) == (1, [])
    assert one_line(result.err) and (name in result.err or "OPENAI_ variables" in result.err)
    assert "secret" not in result.err and "OPENAI_BASE_URL" not in result.err.replace(name, "")


def test_a_query_in_the_base_url_is_sent_with_every_request(serve, run, monkeypatch):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{endpoint.url}/?api-version=1")
    assert run().status == 0
    assert endpoint.requests[0]["path"] == "/v1/chat/completions?api-version=1"


def test_without_key_and_base_url_both_ways_out_are_said(run):
    result = run()
    assert result.status == 1
    assert one_line(result.err) and "OPENAI_API_KEY is not set" in result.err and "OPENAI_BASE_URL" in result.err


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
    assert one_line(result.err) and "OPENAI_API_KEY" in result.err and "secret" not in result.err


# Bugs


@pytest.mark.parametrize("place", ["build_prompt", "read_reply", "format_last_thought"])
def test_a_bug_of_ours_shows_at_once(serve, run, monkeypatch, place):
    calls = []

    def broken(*arguments):
        calls.append(arguments)
        raise AssertionError("a bug")

    serve(FIRST, LAST)
    monkeypatch.setattr(nodes, place, broken)
    with pytest.raises(AssertionError, match="a bug"):
        run()
    assert len(calls) == 1
