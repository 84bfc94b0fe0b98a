"""What goes wrong between the program and the model: the run goes on, or ends with one line that says what to do."""

import contextlib
import pathlib
import sys
from unittest.mock import Mock

import openai
import pytest

import nodes
from tests.conftest import ROOT, run_python, saved_runs
from tests.loopback import completion, error, http_answer, json_answer
from tests.replies import end, reply, reply_of

FIRST = reply(1)
LAST = end(2, solution="42")
HIDDEN_PART = {"thinking": [{"text": LAST}]}
CUT = http_answer("{", length="Content-Length: 9")
KEY = "sk-" + "0123456789abc" * 5


def one_line(text):
    [line] = text.splitlines()
    return line


# An answer without a whole reply


@pytest.fixture
def ask_again(serve, run):
    """ask_again(answer, reason): Thought 2 gets this answer and then a good one; reason: what must be said of it."""

    def run_asked_again(answer, reason):
        endpoint = serve(FIRST, answer, LAST)
        result = run()
        assert result.status == 0
        before, after = endpoint.prompts[1:]
        rejection = after.removeprefix(before.rstrip())
        assert reason in rejection
        assert LAST.strip() not in rejection
        assert reason in one_line(result.err)

    return run_asked_again


@pytest.mark.parametrize("content", ["", None, [HIDDEN_PART]])
def test_an_empty_reply_is_asked_for_again(ask_again, content):
    ask_again(completion(content, reasoning_content=LAST), "")


@pytest.mark.parametrize("content", [None, LAST])
def test_a_refusal_is_quoted_and_asked_for_again(ask_again, content):
    ask_again(completion(content, refusal="I can't help."), "I can't help")


@pytest.mark.parametrize(
    "finish_reason, reason",
    [
        ("content_filter", "filter"),
        ("length", "sections"),
        ("model_length", "sections"),
        ("MAX_TOKENS", "sections"),
        ("abort", "server"),
        ("error", "server"),
        ("insufficient_system_resource", "server"),
        ("interrupted", "server"),
        ("sensitive", "server"),
        ("model_context_window_exceeded", "server"),
    ],
)
def test_a_reply_that_was_cut_off_or_broken_off_is_asked_for_again(ask_again, finish_reason, reason):
    ask_again(completion(LAST, finish_reason), reason)


# Three rejected replies


def test_three_rejected_replies_end_the_run_with_the_last_one_and_the_reason(run):
    result = run(replies=[FIRST, "One.", "Two.", "Three."])
    assert result.status == 1
    assert "Three." in result.err
    for text in ["Thought 2", "current_thinking:", "format", "-v", f"--resume {saved_runs()[0]}"]:
        assert text in result.last_line


def test_each_rejected_reply_is_a_line_that_says_which_of_how_many_it_is(run):
    lines = run(replies=[FIRST, "One.", "Two.", "Three."]).err.splitlines()
    for number in (1, 2, 3):
        line = lines[number - 1]
        assert "Thought 2" in line
        assert f"{number} of 3" in line
        assert "current_thinking:" in line


def test_a_rejected_reply_stands_in_the_next_prompt_alone(run):
    result = run(replies=[FIRST, "Nr. 1!", "Nr. 2!", LAST])
    assert "Nr. 1!" in result.prompts[2]
    assert "Nr. 2!" in result.prompts[3]
    assert "Nr. 1!" not in result.prompts[3]


def test_every_thought_has_three_tries(run):
    assert run(replies=["One.", "Two.", FIRST, "One.", "Two.", LAST]).status == 0


def test_what_three_rejected_replies_took_is_said(serve, run, clock):
    def answer(handler):
        clock[0] += 2.5
        completion("No.", usage={"completion_tokens": 411})(handler)

    serve(answer, answer, answer)
    result = run("--model", "some-model")
    for figure in ["3 requests", "7.5", "1,233", "some-model"]:
        assert figure in result.last_line


@pytest.mark.parametrize("fault", [{"finish_reason": "length"}, {"finish_reason": "abort"}, {"refusal": "I can't."}])
def test_after_a_refusal_or_a_broken_reply_nothing_is_advised_on_the_format(serve, run, fault):
    answer = completion(LAST, **fault)
    serve(answer, answer, answer)
    result = run()
    assert "format" not in result.last_line
    assert "-v" not in result.last_line


# A thought that is taken, and what is said of it


def test_what_is_said_of_a_thought_comes_behind_it(run):
    with contextlib.redirect_stderr(sys.stdout):
        out = run("--max-thoughts", "2", replies=[FIRST, reply_of("Second.")]).out
    assert out.index("Second.") < out.index("does not evaluate")


# A good reply, and what stands beside it


@pytest.mark.parametrize(
    "answer",
    [
        completion([HIDDEN_PART, {"text": FIRST[:20]}, {"text": FIRST[20:]}]),
        completion(FIRST, reasoning_content=LAST),
        completion(FIRST.replace("work", "\ud83d")),
        completion(FIRST, "eos"),
        json_answer({"choices": [{"message": {"content": FIRST}}], "error": "Gone."}),
    ],
    ids=["in parts", "with reasoning", "half a character", "unknown finish reason", "with an error"],
)
def test_a_good_reply_is_taken_whatever_is_beside_it(serve, run, answer):
    serve(answer, LAST)
    result = run()
    assert result.status == 0
    assert result.err == ""


@pytest.mark.parametrize(
    "usage",
    [
        "x",
        {"prompt_tokens": "9", "completion_tokens": 0.5},
        {"prompt_tokens_details": [{}]},
        {"prompt_tokens_details": {"cached_tokens": True}},
    ],
)
def test_odd_usage_makes_the_tokens_unknown(serve, run, usage):
    serve(completion(FIRST, usage=usage), LAST)
    assert run().status == 0
    assert "_tokens" not in saved_runs()[0].read_text(encoding="utf-8")


# An answer that ends the run


@pytest.fixture
def fail(serve, run):
    """fail(*answers): Thought 2 gets these answers, and the run ends with the last. Returns the line on stderr."""

    def run_until_failure(*answers):
        endpoint = serve(FIRST, *answers)
        result = run()
        assert result.status == 1
        assert len(endpoint.requests) == 1 + len(answers)
        assert "\nThought 1" in result.out
        assert ".." not in result.err
        assert ": ." not in result.err
        assert result.err.endswith(f" --resume {saved_runs()[0]}\n")
        return one_line(result.err)

    return run_until_failure


@pytest.mark.parametrize(
    "answer, texts",
    [
        (error(401, "Incorrect key: sk-l***al."), ["Incorrect key: sk-l***al.", "OPENAI_API_KEY"]),
        (error(404, "No model x."), ["No model x.", "--model", "OPENAI_MODEL", "OPENAI_BASE_URL"]),
        (json_answer({"detail": "Kein Modell für x."}, 422), ["422", "Kein Modell für x."]),
        (http_answer('{"error": "Gone."}'), ["Gone."]),
        (http_answer('{"choices": [{"message": {}, "error": "Gone."}]}'), ["Gone."]),
        (http_answer('{"choices": [{"message": {"content": " "}}], "error": "Gone."}'), ["Gone."]),
        (http_answer("", 404), ["404"]),
        (json_answer({"choices": [{"message": {"content": LAST}}]}, 400), ["400"]),
    ],
)
def test_a_refused_request_is_shown_in_the_words_of_the_provider(fail, answer, texts):
    line = fail(answer)
    assert '{"error' not in line
    for text in texts:
        assert text in line


def test_of_a_long_message_in_an_unknown_form_the_beginning_is_shown(fail):
    line = fail(http_answer('{"错误": "' + 999 * "12345 ", 400))
    assert '{"错误": "12345 12345 ' in line
    assert len(line) < 1000


@pytest.mark.parametrize("status", [200, 404])
def test_a_web_page_is_no_answer_of_an_api(fail, status):
    line = fail(http_answer("<!DOCTYPE html>", status))
    assert "OpenAI-compatible API" in line
    assert "OPENAI_BASE_URL" in line


@pytest.mark.parametrize("status, advice", [(401, "OPENAI_API_KEY"), (404, "--model")])
def test_a_web_page_with_a_status_that_says_what_is_wrong_is_no_failure_of_the_server(fail, status, advice):
    line = fail(http_answer("<!DOCTYPE html>", status))
    assert advice in line
    assert "failed" not in line


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        "null",
        '{"choices": [{"message": {"content": 5}}]}',
        '{"choices": [{"message": {"content": {"text": "x"}}}]}',
        '{"choices": [{"message": {"content": [{"text": 5}]}}]}',
        '{"choices": [{"message": {"content": "not UTF-8: \udcff"}}]}',
        pytest.param("[" * 100_000 + "]" * 100_000, id="deep"),
    ],
)
def test_an_answer_that_cannot_be_read_is_shown_and_not_called_cut(fail, body):
    line = fail(http_answer(body))
    assert body[:9] in line
    assert "connection" not in line
    assert "OPENAI_BASE_URL" not in line


@pytest.mark.parametrize("body", ["", '{"id":', '{"choices": ['])
def test_a_body_without_its_end_is_a_connection_that_was_cut_or_an_empty_answer(fail, body):
    line = fail(http_answer(body, length="X-Length: none"))
    assert "connection" in line
    assert "empty" in line


# A failure that may pass


def test_failures_that_four_retries_outlast_are_not_seen(serve, run):
    serve(error(429, "Too many."), error(500, "Oh."), CUT, CUT, FIRST, LAST)
    result = run()
    assert result.status == 0
    assert result.err == ""


@pytest.mark.parametrize(
    "answer, text",
    [
        (error(429, "Quota used up.", "insufficient_quota"), "Quota used up."),
        (error(500, "Oh."), "500"),
        (http_answer("<html>", 504), "gateway"),
        (CUT, "http://127.0.0.1"),
    ],
)
def test_a_failure_that_outlasts_four_retries_is_said(fail, answer, text):
    assert text in fail(answer, answer, answer, answer, answer)


def test_the_client_waits_ten_seconds_for_a_connection_and_an_hour_for_a_reply(serve, run, monkeypatch):
    client = Mock(wraps=openai.OpenAI)
    monkeypatch.setattr(openai, "OpenAI", client)
    serve(LAST)
    run()
    timeout = client.call_args.kwargs["timeout"]
    assert timeout.connect == 10
    assert timeout.read == 3600


# The settings


@pytest.fixture
def refuse(serve, run, monkeypatch):
    """refuse(OPENAI_API_KEY="..."): a run with these settings, which asks nothing. Returns the line on stderr."""

    def run_with(**settings):
        endpoint = serve(LAST)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        result = run()
        assert result.status == 1
        assert not endpoint.requests
        assert "secret" not in result.err
        return one_line(result.err)

    return run_with


def test_an_address_of_ones_own_needs_no_key(serve, run, monkeypatch):
    serve(LAST)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert run().status == 0


# The last key ends with an "ü", written so that any locale can set it.
@pytest.mark.parametrize("key", [" ", "sk-secret\n", "sk-secret secret", "sk-secret-\udcc3\udcbc"])
def test_a_key_with_white_space_or_a_character_that_is_not_ascii_is_refused_by_name(refuse, key):
    assert "OPENAI_API_KEY" in refuse(OPENAI_API_KEY=key)


@pytest.mark.parametrize("answer", [error(403, 99 * KEY), json_answer({"odd": KEY})])
def test_a_key_that_the_provider_repeats_is_not_shown(serve, run, monkeypatch, answer):
    endpoint = serve(answer)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = run("-v")
    assert endpoint.requests[0]["headers"]["Authorization"] == f"Bearer {KEY}"
    assert KEY[:9] not in result.err


def test_a_key_that_a_refusal_repeats_is_not_shown(serve, run, monkeypatch):
    serve(completion(None, refusal=99 * KEY), LAST)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert KEY[:9] not in run().err


def test_a_key_of_a_few_letters_is_no_secret(serve, run, monkeypatch):
    serve(error(400, "No such model in ollama."))
    monkeypatch.setenv("OPENAI_API_KEY", "ollama")
    assert "in ollama" in run().err


@pytest.mark.parametrize(
    "url, shown",
    [
        ("http://user:secret@127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("http://127.0.0.1:1/v1?key=secret", "http://127.0.0.1:1/v1"),
        ("user:secret@127.0.0.1:1/v1", "127.0.0.1:1/v1"),
        ("user:secret?secret@secret@127.0.0.1:1/v1", "127.0.0.1:1/v1"),
        ("ftp://user:secret@localhost/v1", "ftp://localhost/v1"),
    ],
)
def test_where_nobody_listens_the_address_is_shown_without_password_and_query(refuse, url, shown):
    line = refuse(OPENAI_BASE_URL=url)
    assert f" {shown} " in line
    assert "OPENAI_BASE_URL" in line


def test_without_an_address_of_ones_own_the_proxies_are_named_but_not_shown(refuse):
    line = refuse(OPENAI_BASE_URL="", HTTPS_PROXY="http://user:secret@127.0.0.1:1", all_proxy="")
    assert "https://api.openai.com/v1" in line
    assert "refused" in line
    assert "HTTPS_PROXY" in line
    assert "all_proxy" not in line
    assert "OPENAI_BASE_URL" not in line


def test_a_proxy_that_asks_for_a_login_is_named_but_not_shown(fail, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://user:secret@127.0.0.1:1")
    line = fail(error(407, "Login."))
    assert "https_proxy" in line
    assert "secret" not in line


@pytest.mark.parametrize(
    "name, value, exception",
    [
        ("OPENAI_BASE_URL", "http://localhost:port/v1", "InvalidURL"),
        ("OPENAI_BASE_URL", "http://user:secret#1@localhost/v1", "InvalidURL"),
        ("ALL_PROXY", "ftp://user:secret@127.0.0.1:1", "ValueError"),
        ("SSL_CERT_FILE", "/secret", "FileNotFoundError"),
    ],
)
def test_for_a_setting_that_the_client_cannot_use_the_suspects_are_named(refuse, name, value, exception):
    line = refuse(**{name: value})
    for text in [exception, name, "OPENAI_BASE_URL", "SSL_CERT_FILE"]:
        assert text in line


@pytest.mark.parametrize("failure, text", [("import gone", "pip install"), ("raise SystemError('Odd.')", "Odd.")])
def test_a_client_that_cannot_be_imported_ends_the_run(failure, text):
    pathlib.Path("openai.py").write_text(failure)
    result = run_python(f"{ROOT}/main.py", OPENAI_API_KEY="sk-1", PYTHONPATH=".")
    assert result.status == 1
    assert text in result.err
    assert "--resume" in result.last_line


def test_a_package_that_a_proxy_needs_is_named(refuse, monkeypatch):
    monkeypatch.setitem(sys.modules, "socksio", None)  # As if it were not installed.
    line = refuse(ALL_PROXY="socks5://user:secret@127.0.0.1:1")
    assert "socksio" in line
    assert "SSL_CERT_FILE" not in line


# The call on its own, and a bug


def test_the_call_tried_on_its_own_fails_in_one_line():
    result = run_python(f"{ROOT}/utils/call_llm.py")
    assert result.status == 1
    line = one_line(result.err)
    assert "OPENAI_API_KEY" in line
    assert "OPENAI_BASE_URL" in line


def test_an_interrupt_of_the_call_tried_on_its_own_shows_no_traceback():
    pathlib.Path("openai.py").write_text("raise KeyboardInterrupt")
    result = run_python(f"{ROOT}/utils/call_llm.py", OPENAI_API_KEY="sk-1", PYTHONPATH=".")
    assert result.status == 1
    assert "Traceback" not in result.err


def test_a_bug_is_shown_with_its_traceback_and_not_asked_for_again(run, monkeypatch):
    monkeypatch.setattr(nodes, "read_reply", Mock(side_effect=AssertionError("A bug of ours.")))
    result = run(replies=[FIRST, LAST])
    assert result.status == 1
    assert "Traceback" in result.err
    assert "A bug of ours." in result.err
    assert "--resume" in result.last_line
    assert len(result.prompts) == 1
