"""What goes wrong, through the real client: the run goes on, or ends with one clear line."""

import re
import socket

import pytest

import nodes
from tests.conftest import saved_runs
from tests.loopback import completion, error, http_answer, reply, silence
from utils import call_llm

FIRST, LAST = reply(), reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False)
CUT = http_answer('{"id":', cut_by="Content-Length: 999")
TEXT_IN_PARTS = [{"type": "thinking", "thinking": []}, *({"type": "text", "text": t} for t in (FIRST[:99], FIRST[99:]))]
ERROR_IN_A_CHOICE = '{"choices": [{"error": {"message": "Gone."}, "message": {"content": ""}}]}'


def says_how_to_go_on(text):
    return text.endswith(f" To go on: python main.py --resume --run {saved_runs()[0]}\n")


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


@pytest.mark.parametrize("bad, reason, is_shown", [
    ("I would rather talk.", "it has no YAML block", True),
    (LAST.replace("status: Done", "status: Finished"), "is 'Finished', not", True),
    (FIRST.replace("true", "false"), "the step 'Conclusion' is not Done", True),
    (completion(""), "it is empty", False),
    (completion(None), "it is empty", False),
    (completion("I can't.", refusal="I can't help."), "it is a refusal: I can't help", False),
    (completion(LAST, "content_filter"), "it was stopped by a content filter", False),
    (completion(LAST, "model_length"), "it was cut off at", False),
    (completion(LAST[:90], "model_length"), "it was cut off at the model's output limit: write less", False),
])
def test_a_rejected_reply_is_asked_for_again_with_the_reason(serve, run, bad, reason, is_shown):
    endpoint = serve(FIRST, bad, FIRST, LAST)
    result = run()
    assert (result.status, len(endpoint.requests)) == (0, 4)
    first_try, second_try = (prompt.rstrip("\n") for prompt in endpoint.prompts[1:3])
    assert second_try.startswith(first_try)
    appended = second_try.removeprefix(first_try)
    assert (isinstance(bad, str) and bad.rstrip("\n") in appended) == is_shown
    assert reason in appended and "was rejected" in appended and "was rejected" not in endpoint.prompts[3]
    assert one_line(result.err)
    assert result.err.startswith("Thought 2: ") and reason in result.err and "Asking again" in result.err
    assert re.findall(r"^Thought (\d+)", result.out, re.MULTILINE) == ["1", "2", "3"]


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
    assert "an edit of the prompt broke it: -v shows all three" in message and says_how_to_go_on(message)


@pytest.mark.parametrize("answer", [completion(TEXT_IN_PARTS), FIRST.replace("work", "half a character: \ud83d")])
def test_an_odd_answer_is_taken_as_it_is_meant(serve, run, answer):
    serve(answer, LAST)
    assert run().status == 0


def test_a_thought_without_an_evaluation_is_taken_and_said(serve, run):
    serve(reply("Work."), reply("Evaluation of Thought 11: Correct - x"), reply("**Evaluation of Thought 2**: x"), LAST)
    result = run()
    assert (result.status, result.err) == (0, "Thought 2 does not evaluate Thought 1.\n")


def with_content(content, usage="null"):
    return http_answer(f'{{"choices": [{{"message": {{"content": {content}}}}}], "usage": {usage}}}')


@pytest.mark.parametrize("answer, message", [
    (error(401, "Incorrect API key: sk-l***al."), "Incorrect API key: sk-l***al. Check OPENAI_"),
    (error(404, "The model `x` does not exist."), "The model `x` does not exist."),
    (http_answer('{"error": "model \'x\' not found"}', 404), "model 'x' not found"),
    (http_answer('{"detail": "Not Found"}', 404), "Not Found"),
    (http_answer("<html>No.</html>", 404, "text/html"), "not an OpenAI-compatible API"),
    (http_answer("<!DOCTYPE html>", 200, "text/html"), "not an OpenAI-compatible API"),
    (http_answer("<html>Denied", 403, "text/html"), "answered 403 with a web page"),
    (http_answer(""), "was cut in the middle of the reply"),
    (http_answer('{"id":', cut_by="Connection: close"), "was cut in the middle of the reply"),
    (http_answer("{}"), "cannot be read. It begins: {}"),
    (http_answer('{"choices": [{}]}'), 'cannot be read. It begins: {"choices": [{}]}'),
    (http_answer('{"error": {}}'), 'cannot be read. It begins: {"error": {}}'),
    (with_content('"x"', usage="[]"), "cannot be read. It begins"),
    (with_content('"\udcff"'), "cannot be read. It begins"),
    (http_answer("{}\n{}"), "cannot be read. It begins: {} {}"),
    (http_answer("", 204), "(204) cannot be read. It begins: (it is empty)"),
    (http_answer('{"错误": "' + 999 * "很" + '"}', 400), 'answered 400: {"错误": "很很'),
    (error(403, "No such key: sk-local."), "answered 403: No such key: ***."),
    (http_answer('{"error": "sk\\u002dlocal"}', 403), "answered 403: ***."),
    (http_answer('{"error": {"message": "No credits."}}'), "No credits."),
    (http_answer(ERROR_IN_A_CHOICE), "Gone."),
    (http_answer("[" * 100_000 + "]" * 100_000), "cannot be read. It begins: [[["),
])
def test_what_the_provider_refuses_ends_the_run_after_one_request(serve, run, answer, message):
    endpoint = serve(FIRST, answer)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 2)
    assert "Thought 1:\n" in result.out
    assert one_line(result.err) and says_how_to_go_on(result.err)
    assert message in result.err


@pytest.mark.parametrize("answer, message", [
    (error(429, "You exceeded your current quota.", "insufficient_quota"), "your current quota"),
    (error(500, "The server had an error."), "The server had an error."),
    (http_answer("<html>", 504, "text/html"), "504 with a web page: the server or a gateway"),
    (CUT, "No answer from"),
    (silence, "timed out"),
])
def test_what_does_not_pass_ends_the_run_after_the_four_retries_of_the_client(serve, run, monkeypatch, answer, message):
    assert call_llm.REPLY_SECONDS == 3600
    monkeypatch.setattr(call_llm, "REPLY_SECONDS", 0.5)
    endpoint = serve(*[answer] * 9)
    result = run()
    assert (result.status, len(endpoint.requests)) == (1, 5)
    assert one_line(result.err) and message in result.err
    assert "To go on" not in result.err


@pytest.mark.parametrize("answer", [error(429, "Slow."), error(503, "Busy."), CUT])
def test_what_a_retry_of_the_client_mends_is_not_seen(serve, run, answer):
    endpoint = serve(FIRST, *[answer] * 4, LAST)
    result = run()
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", 6)


def test_a_proxy_that_asks_for_a_login_is_said_with_its_variable(serve, run, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", serve(error(407, "Login.")).url)
    result = run()
    assert (result.status, one_line(result.err)) == (1, True) and "HTTP_PROXY" in result.err


@pytest.mark.parametrize("login", ["", "user:secret@"])
def test_nobody_listening_is_said_with_the_address(run, monkeypatch, login):
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        port = closed_again.getsockname()[1]
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://{login}127.0.0.1:{port}/v1/@team")
    monkeypatch.setenv("http_proxy", f"http://user:secret@127.0.0.1:{port}")
    result = run()
    assert result.status == 1
    assert one_line(result.err) and "http://127.0.0.1" in result.err and "refused" in result.err
    assert "http_proxy" in result.err and "NO_PROXY" in result.err and "secret" not in result.err


@pytest.mark.parametrize("name, value", [
    ("OPENAI_BASE_URL", "localhost:11434/v1"),
    ("OPENAI_BASE_URL", "http://localhost:port/v1"),
    ("OPENAI_BASE_URL", "http:///v1"),
    ("OPENAI_BASE_URL", "http://a..b/v1"),
    ("OPENAI_BASE_URL", "http://[12345::1]/v1"),
    ("OPENAI_BASE_URL", "http://192.168.1.256:11434/v1"),
    ("OPENAI_BASE_URL", "http://user:secret#1@localhost/v1"),
    ("OPENAI_BASE_URL", "http://user:secret/1@localhost/v1"),
    ("OPENAI_API_KEY", "“sk-secret”"),
    ("OPENAI_API_KEY", "sk-secret\n"),
    ("https_proxy", "http://user:secret#1@proxy:8080"),
    ("ALL_PROXY", "socks5://127.0.0.1:1"),
    ("SSL_CERT_FILE", "/secret"),
    ("OPENAI_ORG_ID", "é"),
])
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


def test_a_base_url_needs_no_key(serve, run, monkeypatch):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert run().status == 0
    assert endpoint.requests[0]["headers"]["Authorization"] == "Bearer none"


@pytest.mark.parametrize("place", ["build_prompt", "read_reply", "format_last_thought"])
def test_a_bug_of_ours_shows_at_once(serve, run, monkeypatch, place):
    calls = []
    serve(FIRST, LAST)
    monkeypatch.setattr(nodes, place, lambda *arguments: calls.append(arguments) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run()
    assert len(calls) == 1
