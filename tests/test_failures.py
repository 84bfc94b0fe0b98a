"""What goes wrong between the program and the model: the run goes on, or ends with one line that says what to do."""

import pathlib
import sys
from unittest.mock import Mock

import openai
import pytest

from tests.conftest import ROOT, run_python, saved_runs
from tests.loopback import completion, error, http_answer, json_answer
from tests.replies import end, reply
from utils.call_llm import Reply

FIRST = reply(1, solution="42")
LAST = end(2)
ANSWER = {"choices": [{"message": {"content": FIRST}}]}
HIDDEN_PART = {"thinking": [{"text": LAST}]}
USAGE = {"prompt_tokens": 3900, "completion_tokens": 196}
CUT = http_answer("{", length="Content-Length: 9")
PAGE = "<!DOCTYPE html>"
KEY = "sk-" + "0123456789abc" * 5


def one_line(text):
    [line] = text.splitlines()
    return line


# An answer without a whole reply


@pytest.mark.parametrize(
    "answer, reason",
    [
        (completion(None, reasoning_content=LAST), "empty"),
        (completion(None, usage={"completion_tokens": 812}), "812 completion tokens"),
        (completion([HIDDEN_PART]), "empty"),
        (completion(LAST, refusal="I can't help."), "I can't help"),
        (completion(LAST, "content_filter"), "filter"),
        (completion(LAST, "length"), "sections"),
        (completion(LAST, "model_length"), "sections"),
        (completion(LAST, "length", USAGE), "3,900 prompt tokens, 196 completion tokens"),
        (completion(LAST, "MAX_TOKENS"), "sections"),
    ],
)
def test_an_answer_without_a_whole_reply_is_asked_for_again_with_the_reason(serve, run, answer, reason):
    endpoint = serve(FIRST, answer, LAST)
    result = run()
    assert result.status == 0
    before, after = endpoint.prompts[1:]
    rejection = after.removeprefix(before.rstrip())
    assert reason in rejection
    assert LAST.strip() not in rejection
    assert reason in one_line(result.err)


# Three rejected replies


def test_three_rejected_replies_end_the_run_with_the_last_one_and_the_reason(run):
    result = run(replies=[FIRST, "One.", "Two.", "Three."])
    assert result.status == 1
    assert "Three." in result.err
    for text in ["Thought 2", "3 requests", "fence", "format", "-v", f"--resume {saved_runs()[0]}"]:
        assert text in result.last_line


def test_every_thought_has_three_tries_and_each_rejection_is_a_line_that_says_why(run):
    result = run(replies=["No.", "No.", FIRST, "No.", "No.", LAST])
    assert result.status == 0
    *_, line = result.err.splitlines()
    for text in ["Thought 2", "2 of 3", "fence"]:
        assert text in line


@pytest.mark.parametrize("reply", [Reply(LAST, fault="it was cut off"), None, " "])
def test_after_a_reply_that_was_no_whole_one_nothing_is_advised_on_the_format(run, reply):
    result = run(replies=[reply, reply, reply])
    assert "format" not in result.last_line
    assert "-v" not in result.last_line


# A good reply, and what stands beside it


@pytest.mark.parametrize(
    "answer",
    [
        completion([HIDDEN_PART, {"text": FIRST[:20]}, {"text": FIRST[20:]}]),
        completion(FIRST, reasoning_content=LAST),
        completion(FIRST.replace("work", "\ud83d")),
        completion(FIRST, "abort"),
        json_answer({**ANSWER, "error": "Gone."}),
        completion(FIRST, usage="x"),
        completion(FIRST, usage=[]),
        completion(FIRST, usage={"prompt_tokens": True}),
        completion(FIRST, usage={"prompt_tokens_details": [{}]}),
    ],
)
def test_a_good_reply_is_taken_whatever_is_beside_it(serve, run, answer):
    serve(answer, LAST)
    result = run()
    assert result.status == 0
    assert result.err == ""
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
        assert "http://127.0.0.1" in result.err
        assert result.err.endswith(f" --resume {saved_runs()[0]}\n")
        return one_line(result.err)

    return run_until_failure


@pytest.mark.parametrize(
    "answer, texts",
    [
        (error(401, "Incorrect key: sk-l***al."), ["Incorrect key: sk-l***al.", "OPENAI_API_KEY"]),
        (error(404, "No model x."), ["No model x.", "--model", "OPENAI_MODEL", "OPENAI_BASE_URL", "ends with /v1"]),
        (json_answer({"detail": "Kein Modell für x."}, 422), ["422", "Kein Modell für x."]),
        (json_answer({"error": "Gone."}, 410), ["410", "Gone."]),
        (json_answer({"code": 1210}, 400), ["400", "1210"]),
    ],
)
def test_a_refused_request_is_shown_in_the_words_of_the_provider(fail, answer, texts):
    line = fail(answer)
    assert '{"error' not in line
    for text in texts:
        assert text in line


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "This model's maximum context length is 4096 tokens."),
        error(400, "The request exceeds the available context size."),
    ],
)
def test_a_prompt_that_is_too_long_for_the_server_is_said_to_need_a_larger_context(fail, answer):
    assert "needs a larger context: see README.md" in fail(answer)


def test_an_empty_reply_that_was_cut_off_ends_the_run_without_another_try(serve, run):
    endpoint = serve(FIRST, completion("", "length", USAGE))
    line = one_line(run().err)
    assert "3,900 prompt tokens, 196 completion tokens" in line
    assert "needs a larger context" in line
    assert len(endpoint.requests) == 2


def test_of_a_long_message_in_an_unknown_form_the_beginning_is_shown(fail):
    line = fail(http_answer('{"错误": "' + 999 * "12345 ", 400))
    assert '{"错误": "12345 12345 ' in line
    assert len(line) < 1000


@pytest.mark.parametrize("status, advice", [(200, "OPENAI_BASE_URL"), (401, "OPENAI_API_KEY"), (404, "--model")])
def test_a_web_page_is_called_one_and_not_shown(fail, status, advice):
    line = fail(http_answer(PAGE, status))
    assert "web page" in line
    assert advice in line
    assert PAGE not in line


@pytest.mark.parametrize(
    "body, shown",
    [
        ("null", "None"),
        ('{"error": "Gone."}', "no completion: Gone. To"),
        ('{"choices": null, "error": {"message": "Gone.", "code": 502}}', "no completion: Gone. To"),
        ('{"choices": [{"message": {}, "error": "Gone."}]}', "Gone."),
        ('{"choices": [{"message": {"content": " "}}], "error": "Gone."}', "no completion: Gone. To"),
        ('{"choices": []}', "choices=[]"),
        ('{"choices": {}}', "choices={}"),
        ('{"choices": [{"message": {"content": 5}}]}', "content=5"),
    ],
)
def test_an_answer_that_is_no_completion_is_shown_in_its_own_words_or_as_the_client_has_made_it(fail, body, shown):
    assert shown in fail(http_answer(body))


@pytest.mark.parametrize("body, shown", [("It works", "It works"), ("\udcff", "0xff"), ("", "nothing")])
def test_an_answer_that_is_no_json_is_shown_as_it_begins(fail, body, shown):
    line = fail(http_answer(body))
    assert shown in line
    assert "SSL_CERT_FILE" not in line


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
        (http_answer(PAGE, 504), "gateway"),
        (CUT, "network"),
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


@pytest.mark.parametrize(
    "answer",
    [
        error(403, 99 * KEY),
        completion(None, refusal=99 * KEY),
    ],
)
def test_a_key_that_the_provider_repeats_is_not_shown(serve, run, monkeypatch, answer):
    endpoint = serve(answer)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = run("-v")
    assert endpoint.requests[0]["headers"]["Authorization"] == f"Bearer {KEY}"
    assert "***" in result.err
    assert KEY[:9] not in result.err


def test_a_key_of_a_few_letters_is_no_secret(serve, run, monkeypatch):
    serve(error(400, "No such model in ollama."))
    monkeypatch.setenv("OPENAI_API_KEY", "ollama")
    assert "in ollama" in run().err


@pytest.mark.parametrize(
    "url, shown",
    [
        ("http://user:secret@127.0.0.1:1/v1?key=secret", "http://127.0.0.1:1/v1"),
        ("user:secret?secret@secret@127.0.0.1:1/v1", "127.0.0.1:1/v1"),
    ],
)
def test_where_nobody_listens_the_address_is_shown_without_password_and_query(refuse, url, shown):
    line = refuse(OPENAI_BASE_URL=url)
    assert f" {shown} " in line
    assert "OPENAI_BASE_URL" in line


def test_of_a_proxy_that_does_not_answer_no_password_is_shown(refuse):
    line = refuse(OPENAI_BASE_URL="", HTTPS_PROXY="http://user:secret@127.0.0.1:1")
    assert "https://api.openai.com/v1" in line
    assert "proxy" in line


@pytest.mark.parametrize(
    "name, value, exception",
    [
        ("OPENAI_BASE_URL", "http://user:secret#1@localhost/v1", "InvalidURL"),
        ("ALL_PROXY", "ftp://user:secret@127.0.0.1:1", "ValueError"),
        ("SSL_CERT_FILE", "/secret", "FileNotFoundError"),
    ],
)
def test_for_a_setting_that_the_client_cannot_use_the_suspects_are_named(refuse, name, value, exception):
    line = refuse(**{name: value})
    for text in [exception, "OPENAI_BASE_URL", "SSL_CERT_FILE", "proxy"]:
        assert text in line


def test_a_package_that_a_proxy_needs_is_named(refuse, monkeypatch):
    monkeypatch.setitem(sys.modules, "socksio", None)  # As if it were not installed.
    line = refuse(ALL_PROXY="socks5://user:secret@127.0.0.1:1")
    assert "socksio" in line
    assert "SSL_CERT_FILE" not in line


# The call on its own, and a bug


def test_a_client_that_is_broken_is_shown_with_its_traceback(run, monkeypatch):
    pathlib.Path("openai.py").write_text("raise OSError('It is broken.')")
    monkeypatch.delitem(sys.modules, "openai")
    monkeypatch.syspath_prepend(".")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
    err = run().err
    assert err.count("Traceback") == 1
    assert "OSError: It is broken." in err


def test_the_call_tried_in_the_folder_of_the_project_answers_or_fails_in_one_line(serve, monkeypatch):
    monkeypatch.chdir(ROOT)
    arguments = ["-m", "utils.call_llm"]
    failed = run_python(*arguments, PYTHONPATH="")
    assert failed.status == 1
    assert "OPENAI_API_KEY" in one_line(failed.err)
    serve("ready")
    assert run_python(*arguments, PYTHONPATH="", OPENAI_MODEL="mine").out == "mine: ready\n"


@pytest.mark.parametrize("function", ["nodes.read_reply", "utils.call_llm.read_completion"])
def test_a_bug_is_shown_with_its_traceback_and_not_asked_for_again(serve, run, monkeypatch, function):
    monkeypatch.setattr(function, Mock(side_effect=ValueError("A bug of ours.")))
    endpoint = serve(FIRST, LAST)
    result = run()
    assert result.status == 1
    assert "Traceback" in result.err
    assert "A bug of ours." in result.err
    assert "--resume" in result.last_line
    assert len(endpoint.requests) == 1
