"""What goes wrong between the program and the model: the run goes on, or ends with one clear line."""

import json
import re
import sys
import time

import openai
import pytest

import nodes
from tests.conftest import run_command, saved_runs
from tests.loopback import error, http_answer, silence
from tests.replies import reply

FIRST, LAST = reply(), reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False, solution="42")
HIDDEN = {"type": "thinking", "thinking": [{"type": "text", "text": LAST}]}
IN_PARTS = [HIDDEN, *({"type": "text", "text": part} for part in FIRST.partition("\n"))]
GONE = {"code": 0, "message": "Gone."}
KEY = "sk-" + "0123456789abc" * 5
LONG = " ".join(str(number) for number in range(100, 175))  # 299 characters


def answer_with(content=FIRST, message={}, choice={}, **more):
    return http_answer(json.dumps({"choices": [{"message": {"content": content, **message}, **choice}], **more}))


def is_one_line(text):
    return text.count("\n") == 1 and text.endswith("\n") and "Traceback" not in text


@pytest.mark.parametrize("content, message, finish_reason, reason", [
    *[(nothing, {}, "stop", "empty") for nothing in ("", " \n", None, [HIDDEN])],
    ("", {"reasoning_content": LAST, "reasoning": LAST}, "stop", "empty"),
    *[(content, {"refusal": "I can't help."}, "stop", "I can't help") for content in (None, "I can't.")],
    (LAST, {}, "content_filter", "filter"),
    *[(LAST, {}, end, "sections") for end in ("length", "model_length", "MAX_TOKENS")],
    *[(LAST, {}, end, "server") for end in ("abort", "error", "insufficient_system_resource", "interrupted")],
    *[(LAST, {}, end, "server") for end in ("sensitive", "model_context_window_exceeded")],
])
def test_an_answer_without_a_whole_reply_is_asked_for_again(serve, run, content, message, finish_reason, reason):
    endpoint = serve(FIRST, answer_with(content, message, {"finish_reason": finish_reason}), LAST)
    result = run()
    assert (result.status, len(endpoint.requests), is_one_line(result.err)) == (0, 3, True)
    rejection = endpoint.prompts[2].removeprefix(endpoint.prompts[1].rstrip("\n"))
    assert len(rejection) < len(endpoint.prompts[1]) and nodes.TURN["new reply"] in rejection and LAST not in rejection
    assert all(reason in text and ".." not in text for text in (result.err, rejection))


def test_a_bad_reply_is_asked_for_again_and_three_end_the_run_with_the_last_and_what_they_took(run, monkeypatch):
    def answer(text):
        clock[0] += 2.5
        return type("Reply", (str,), {"cost": {"model": "some-model", "completion_tokens": 411}})(text)

    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    texts = ["Zero.", FIRST, "One.", "Two.", FIRST.replace("Done", "Odd"), FIRST]
    result = run(replies=[lambda text=text: answer(text) for text in texts])
    assert (result.status, "\nThought 1" in result.out) == (1, True)
    shown = [[text for text in texts if text in prompt] for prompt in result.prompts]
    assert shown == [[], ["Zero."], [], ["One."], ["Two."]]
    assert re.findall("^Thought \\d", result.err, re.M) == ["Thought 1", *["Thought 2"] * 3] and texts[4] in result.err
    message = result.err.splitlines()[-1]
    assert all(text in message for text in ("Odd", "3 requests", "7.5", "1,233", "some-model", " -v ", " --resume "))


@pytest.mark.parametrize("second, limit, said", [
    (reply("Work."), 30, "Thought 2 .*Thought 1"), (reply("Evaluation of Thought 11: Correct - x"), 30, "Thought 2 "),
    (reply("**Evaluation of Thought 1**: no Major Error"), 30, "Thought 2 .*Thought 1"),
    *[(LAST.replace("Correct", "Major Error"), limit, "Thought 2.*Major Error") for limit in (2, 3)],
])
def test_a_thought_without_evaluation_is_taken_and_an_end_after_a_major_error_at_the_limit(run, second, limit, said):
    result = run("--max-thoughts", str(limit), replies=[reply("Work."), second, LAST])
    assert (result.status, len(result.prompts), is_one_line(result.err)) == (0, min(limit, 3), True)
    assert re.match(said, result.err)


@pytest.mark.parametrize("answer", [
    answer_with(IN_PARTS),
    answer_with(message={"reasoning_content": LAST, "reasoning": LAST}),
    answer_with(FIRST.replace("work", "half a character: \ud83d")),
    answer_with(choice={"finish_reason": "eos", "error": GONE}, error=GONE),
    *[answer_with(usage=usage) for usage in ("x", ["x"], {"prompt_tokens": "9", "completion_tokens": 0.5})],
    *[answer_with(usage={"prompt_tokens_details": details}) for details in ("x", [{}], {"cached_tokens": True})],
])
def test_a_good_reply_is_taken_whatever_is_beside_it(serve, run, answer):
    endpoint = serve(answer, LAST)
    result = run()
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", 2)
    assert "_tokens" not in saved_runs()[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("answer, words", [
    (error(401, "Incorrect API key: sk-l***al."), "Incorrect API key: sk-l***al. OPENAI_API_KEY"),
    (error(404, "No such model: x."), "404 No such model: x. --model OPENAI_MODEL OPENAI_BASE_URL"),
    (error(407, "Login."), "407 Login. HTTPS_PROXY"),
    (error(400, LONG), LONG),
    (http_answer('{"detail": "No n\\u006fne."}', 422), "422 No none."),
    (http_answer('{"错误": "' + 999 * "很" + '"}', 400), "400 错误 很很很很很很很很"),
    *[(http_answer(body, 404), "404") for body in ("", '{"error": {}}')],
    *[(answer, "Gone.") for answer in (error(200, "Gone."), http_answer('{"error": "Gone."}'))],
    *[(answer, "Gone.") for answer in (answer_with(" ", error=GONE), answer_with("", choice={"error": GONE}))],
    *[(http_answer("<!DOCTYPE html>", n, "text/html"), "http://127.0.0.1 OpenAI-compatible API") for n in (200, 404)],
    *[(http_answer(body, cut_by="X-Length: none"), "connection cut") for body in ("", '{"id":', '{"choices": [')],
    *[(http_answer(body), body) for body in ("{}", '{"choices": [{}]}', '{"error": {}}', "null")],
    *[(answer_with(content), '{"choices": [{"mess') for content in (5, {"text": "x"}, ["x"], [{"text": 5}])],
    (http_answer('{"choices": [{"message": {"content": "\udcff"}}]}'), '{"choices": [{"mess'),
    (http_answer("[" * 100_000 + "]" * 100_000), "[[[[["),
])
def test_a_refusal_or_an_unreadable_answer_is_shown_after_one_request(serve, run, monkeypatch, answer, words):
    endpoint = serve(FIRST, answer)
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@localhost:1")
    monkeypatch.setenv("OPENAI_API_KEY", "o")  # One that short is no secret, and left in a message.
    result = run()
    assert (result.status, len(endpoint.requests), is_one_line(result.err)) == (1, 2, True)
    assert all(word in result.err for word in words.split()) and ".." not in result.err and len(result.err) < 1000
    assert ("cut" in result.err) == ("cut" in words) and "secret" not in result.err  # What is whole is not called cut.
    assert "\nThought 1" in result.out and result.err.endswith(f" --resume {saved_runs()[0]}\n")


@pytest.mark.parametrize("key, sent", [("", r"\w+"), (KEY, KEY)])
def test_a_key_is_not_needed_and_never_shown(serve, run, monkeypatch, key, sent):
    endpoint = serve(http_answer(f'{{"error": "sk\\u002d{KEY[3:]} {99 * KEY}"}}', 403))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    result = run("-v")
    assert re.fullmatch(f"Bearer {sent}", endpoint.requests[0]["headers"]["Authorization"]) and result.status == 1
    assert not key or "***" in result.err and KEY[:9] not in result.err and KEY[-9:] not in result.err


@pytest.mark.parametrize("answer, words", [
    (error(429, "You exceeded your current quota.", "insufficient_quota"), "exceeded your current quota."),
    (error(500, "The server had an error."), "500 The server had an error."),
    *[(http_answer("<html>", status, "text/html"), f"{status} gateway") for status in (429, 504)],
    *[(cut, "http://127.0.0.1") for cut in (http_answer("{", cut_by="Content-Length: 9"), lambda handler: 0)],
])
def test_a_failure_that_may_pass_is_not_seen_unless_it_outlasts_four_retries(serve, run, answer, words):
    endpoint = serve(*[answer] * 4, FIRST, *[answer] * 9)
    result = run()
    assert (result.status, len(endpoint.requests), is_one_line(result.err)) == (1, 10, True)
    assert "\nThought 1" in result.out and all(word in result.err for word in words.split())


def test_the_client_waits_ten_seconds_for_a_connection_and_an_hour_for_a_reply(serve, run, monkeypatch):
    given, client = [], openai.OpenAI
    monkeypatch.setattr(openai, "OpenAI", lambda timeout, **more: given.append(timeout) or client(timeout=0.02, **more))
    endpoint = serve(*[silence] * 9)
    result = run()
    endpoint.wait_for_request(5)
    assert (given[0].connect, given[0].read) == (10, 3600)
    assert (result.status, is_one_line(result.err)) == (1, True) and "timed out" in result.err


@pytest.mark.parametrize("url, address, suspect, other", [
    ("http://user:secret@127.0.0.1:1/v1", "http://127.0.0.1:1/v1", "OPENAI_BASE_URL", "the network"),
    ("", "https://api.openai.com/v1", "the network", "OPENAI_BASE_URL"),
])
def test_nobody_listening_is_said_with_address_and_proxy_variables(run, monkeypatch, url, address, suspect, other):
    proxies = {**dict.fromkeys(["http_proxy", "HTTPS_PROXY"], "http://user:secret@127.0.0.1:1"), "all_proxy": ""}
    for name, value in {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-local", **proxies}.items():
        monkeypatch.setenv(name, value)
    result = run()
    assert (result.status, is_one_line(result.err)) == (1, True)
    assert all(text in result.err for text in (address, "refused", suspect, "http_proxy", "HTTPS_PROXY"))
    assert all(text not in result.err for text in ("secret", "all_proxy", other))


@pytest.mark.parametrize("name, value", [
    *[("OPENAI_BASE_URL", f"http://{host}/v1") for host in ("localhost:port", "[::1::]", "1.1.1.256:80")],
    *[("OPENAI_BASE_URL", f"http://secret:{password}@localhost/v1") for password in ("pass#1", "pass/1", "pass?1")],
    ("https_proxy", "http://user:secret#1@proxy:8080"), ("ALL_PROXY", "ftp://user:secret@127.0.0.1:1"),
    ("SSL_CERT_FILE", "/secret"), ("OPENAI_API_KEY", "sk-secret\udcff"), ("OPENAI_ORG_ID", "secret\udcff"),
])
def test_for_a_setting_that_the_client_cannot_use_the_suspects_are_named(serve, run, monkeypatch, name, value):
    endpoint = serve(FIRST, LAST)
    monkeypatch.setenv("no_proxy", "secret")
    monkeypatch.setenv(name, value)
    result = run()
    assert (result.status, endpoint.requests, is_one_line(result.err)) == (1, [], True)
    suspects = {"OPENAI_BASE_URL", "SSL_CERT_FILE", "no_proxy", name} - {"OPENAI_API_KEY", "OPENAI_ORG_ID"}
    assert set(re.findall(r"OPENAI_\w+|SSL_\w+|\w+_(?:proxy|PROXY)", result.err)) == suspects
    assert re.search(r"InvalidURL|[A-Z]\w+Error", result.err) and not re.search("secret|pass", result.err)


@pytest.mark.parametrize("key, url, word", [
    *[(key, "http://127.0.0.1:{}/v1", "OPENAI_API_KEY") for key in (" ", "sk-secret\n", "sk-secret\nsecret")],
    *[("", url, "OPENAI_BASE_URL") for url in ("localhost:11434/v1", "127.0.0.1:1", "ftp://user:secret@localhost/v1")],
])
def test_a_setting_that_no_request_can_be_made_with_is_said_but_not_shown(serve, run, monkeypatch, key, url, word):
    endpoint = serve()
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", url.format(endpoint.server_address[1]))
    result = run()
    assert (result.status, endpoint.prompts, is_one_line(result.err), "secret" in result.err) == (1, [], True, False)
    assert word in result.err


def test_the_call_tried_on_its_own_fails_in_one_line(serve):
    serve(error(401, "No such key."))
    result = run_command(sys.executable, nodes.__file__.replace("nodes.py", "utils/call_llm.py"))
    assert (result.status, result.out, is_one_line(result.err)) == (1, "", True) and "No such key." in result.err


def test_a_bug_of_ours_is_shown_and_not_asked_for_again(run, monkeypatch):
    monkeypatch.setattr("nodes.read_reply", lambda *arguments, **options: [][1])
    result = run(replies=[FIRST, LAST])
    assert (result.status, len(result.prompts)) == (1, 1) and "IndexError" in result.err and "Traceback" in result.err
