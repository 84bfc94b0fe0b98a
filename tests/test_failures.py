"""What goes wrong, through the real client: the run goes on, or ends with one clear line."""

import json
import socket

import openai
import pytest

from tests.conftest import saved_runs
from tests.loopback import completion, error, http_answer, reply, silence

FIRST, LAST = reply(), reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False, solution="42")
IN_PARTS = [{"type": "thinking", "thinking": []}, *({"type": "text", "text": part} for part in FIRST.partition("\n"))]
GONE = {"code": 0, "message": "Gone."}
KEY = "sk-" + "0123456789abc" * 5
LONG = " ".join(str(number) for number in range(100, 175))  # 299 characters


def answer_with(content=FIRST, choice={}, **more):
    return http_answer(json.dumps({"choices": [{"message": {"content": content}, **choice}], **more}))


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


@pytest.mark.parametrize("bad, reason", [
    (["I would rather talk."], "no YAML block"),
    *[([nothing], "empty") for nothing in ("", " ", None)],
    (["I can't.", "stop", "I can't help."], "refusal: I can't help"),
    ([LAST, "content_filter"], "content filter"),
    *[([LAST, end], "output limit") for end in ("length", "model_length", "MAX_TOKENS")],
    *[([LAST, end], "broken off") for end in ("abort", "error", "insufficient_system_resource", "interrupted")],
    *[([LAST, end], "broken off") for end in ("sensitive", "model_context_window_exceeded")],
])
def test_a_rejected_reply_is_asked_for_again_with_the_reason(serve, run, bad, reason):
    endpoint = serve(FIRST, completion(*bad), FIRST, LAST)
    result = run()
    assert (result.status, len(endpoint.requests), one_line(result.err)) == (0, 4, True)
    assert all(text in result.err for text in ("Thought 2: ", reason, "Asking again"))
    assert ["was rejected: it" in prompt for prompt in endpoint.prompts] == [False, False, True, False]
    assert reason in endpoint.prompts[2]


def test_three_rejected_replies_end_the_run_with_the_reason_and_the_reply(serve, run):
    endpoint = serve(FIRST, "One.", "Two.", completion("planning: cut o", "length"))
    result = run()
    assert (result.status, len(endpoint.requests), result.err.count("Asking again")) == (1, 4, 2)
    assert "Two." in endpoint.prompts[3] and "One." not in endpoint.prompts[3]
    raw_reply, message = result.err.split("again.\n")[-1].split("\n\n")
    assert raw_reply == "The last reply:\nplanning: cut o"
    assert all(text in message for text in ("Thought 2: gave up after 3", "output limit", "-v shows", " --resume "))


@pytest.mark.parametrize("answer", [
    answer_with(IN_PARTS),
    answer_with(FIRST.replace("work", "half a character: \ud83d")),
    answer_with(choice={"finish_reason": "eos", "error": GONE}),
    answer_with(error=GONE),
    *[answer_with(usage=usage) for usage in ("x", ["x"], {"prompt_tokens": "9", "completion_tokens": 0.5})],
    *[answer_with(usage={"prompt_tokens_details": details}) for details in ("x", [{}], {"cached_tokens": True})],
])
def test_a_good_reply_is_taken_whatever_is_beside_it(serve, run, answer):
    endpoint = serve(answer, LAST)
    result = run()
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", 2)
    assert "_tokens" not in saved_runs()[0].read_text(encoding="utf-8")


def test_a_thought_without_an_evaluation_is_taken_and_said(serve, run):
    serve(reply("Work."), reply("Evaluation of Thought 11: Correct - x"), reply("**Evaluation of Thought 2**: x"), LAST)
    result = run()
    assert (result.status, one_line(result.err)) == (0, True)
    assert "Thought 2 " in result.err and "evaluate Thought 1" in result.err


@pytest.mark.parametrize("answer, message", [
    (error(401, "Incorrect API key: sk-l***al."), "Incorrect API key: sk-l***al. Check OPENAI_API_KEY"),
    (error(404, "No such model: x."), "No such model: x. Check --model, OPENAI_MODEL and OPENAI_BASE_URL"),
    (error(407, "Login."), "no_proxy"),
    (error(400, LONG), LONG),
    (http_answer(f'{{"error": "No such key: sk\\u002d{KEY[3:]}."}}', 403), "answered 403: No such key: ***."),
    (error(400, f"{KEY} " * 99), "*** ***"),  # Wherever this is cut, no part of the key is left.
    (http_answer('{"detail": "No n\\u006fne."}', 422), "answered 422: No none."),
    (http_answer('{"错误": "' + 999 * "很" + '"}', 400), 'answered 400: {"错误": "很很'),
    *[(a, "Gone.") for a in (error(200, "Gone."), answer_with(" ", error=GONE), answer_with("", {"error": GONE}))],
    *[(http_answer("<!DOCTYPE html>", status, "text/html"), "not an OpenAI-compatible API") for status in (200, 404)],
    *[(http_answer(body, cut_by="X-Length: none"), "was cut in the middle of the reply") for body in ("", '{"id":')],
    *[(http_answer(body), f"begins: {body}") for body in ("{}", '{"choices": [{}]}', '{"error": {}}')],
    (http_answer("[" * 100_000 + "]" * 100_000), "cannot be read. It begins: [[["),
    (http_answer("", 204), "(204) cannot be read. It begins: (it is empty)"),
    (http_answer('{"choices": [{"message": {"content": "\udcff"}}]}'), "cannot be read. It begins"),
    (answer_with({"text": "x"}), "cannot be read. It begins"),
])
def test_what_the_provider_refuses_ends_the_run_after_one_request(serve, run, monkeypatch, answer, message):
    endpoint = serve(FIRST, answer)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY if "***" in message else "o")  # One that short is no secret.
    result = run()
    assert (result.status, len(endpoint.requests), one_line(result.err)) == (1, 2, True)
    assert message in result.err and KEY[:5] not in result.err
    assert "Thought 1:\n" in result.out and result.err.endswith(f" python main.py --resume {saved_runs()[0]}\n")


@pytest.mark.parametrize("answer, message", [
    (error(429, "You exceeded your current quota.", "insufficient_quota"), "your current quota"),
    (error(500, "The server had an error."), "The server had an error."),
    (http_answer("<html>", 504, "text/html"), "504 with a web page: the server or a gateway"),
    (http_answer('{"id":', cut_by="Content-Length: 999"), "No answer from"),
])
def test_a_failure_that_may_pass_is_not_seen_unless_it_outlasts_four_retries(serve, run, answer, message):
    endpoint = serve(*[answer] * 4, FIRST, *[answer] * 9)
    result = run()
    assert (result.status, len(endpoint.requests), one_line(result.err)) == (1, 10, True)
    assert "Thought 1:\n" in result.out and message in result.err


def test_the_client_waits_ten_seconds_for_a_connection_and_an_hour_for_a_reply(serve, run, monkeypatch):
    given, client = [], openai.OpenAI
    monkeypatch.setattr(openai, "OpenAI", lambda timeout, **more: given.append(timeout) or client(timeout=0.1, **more))
    endpoint = serve(*[silence] * 9)
    result = run()
    endpoint.wait_for_request(5)
    assert (given[0].connect, given[0].read) == (10, 3600)
    assert (result.status, one_line(result.err)) == (1, True) and "timed out" in result.err


@pytest.mark.parametrize("url", ["http://user:secret@127.0.0.1:{}/v1", "http://127.0.0.1:{}/secret@localhost/v1"])
def test_nobody_listening_is_said_with_the_address_and_the_proxy_variables(run, monkeypatch, url):
    with socket.socket() as deaf:  # It has a port, so that nobody else has it, and does not listen.
        deaf.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", url.format(deaf.getsockname()[1]))
        monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:{}".format(deaf.getsockname()[1]))
        result = run()
    assert (result.status, one_line(result.err)) == (1, True) and "secret" not in result.err
    assert all(text in result.err for text in ("http://127.0.0.1", "refused", "http_proxy", "NO_PROXY"))


@pytest.mark.parametrize("name, value", [
    *[("OPENAI_BASE_URL", url) for url in ("localhost:11434/v1", "http://localhost:port/v1", "http:///v1")],
    *[("OPENAI_BASE_URL", f"http://{host}/v1") for host in ("a..b", "[12345::1]", "192.168.1.256:11434")],
    *[("OPENAI_BASE_URL", f"http://secret:{password}@localhost/v1") for password in ("pass#1", "pass/1", "1#pass")],
    *[("OPENAI_API_KEY", key) for key in ("sk-secret\udcff", "sk-secret\n")],
    *[("https_proxy", "http://user:secret#1@proxy:8080"), ("ALL_PROXY", "socks5://127.0.0.1:1")],
    *[("SSL_CERT_FILE", "/secret"), ("OPENAI_ORG_ID", "\udcff")],
])
def test_a_setting_that_the_client_cannot_use_is_named_but_not_shown(serve, run, monkeypatch, name, value):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setenv(name, value)
    result = run()
    assert (result.status, endpoint.requests, one_line(result.err)) == (1, [], True)
    assert name in result.err or name == "OPENAI_ORG_ID" and "OPENAI_ variables" in result.err
    assert "secret" not in result.err and "OPENAI_BASE_URL" not in result.err.replace(name, "")


def test_without_key_and_base_url_both_ways_out_are_said(run):
    result = run()
    assert (result.status, one_line(result.err)) == (1, True)
    assert "OPENAI_API_KEY is not set" in result.err and "OPENAI_BASE_URL" in result.err


def test_a_base_url_needs_no_key_and_may_have_a_query(serve, run, monkeypatch):
    endpoint = serve(LAST)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{endpoint.url}/?api-version=1")
    assert (run().status, endpoint.requests[0]["path"]) == (0, "/v1/chat/completions?api-version=1")
    assert endpoint.requests[0]["headers"]["Authorization"] == "Bearer none"


def test_a_bug_of_ours_shows_at_once(serve, run, monkeypatch):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setattr("nodes.read_reply", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run()
    assert len(endpoint.requests) == 1
