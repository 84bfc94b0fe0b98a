import pytest

from utils.call_llm import DEFAULT_MODEL, call_llm


def test_nothing_is_sent_but_model_and_messages(serve, monkeypatch):
    endpoint = serve("ready")
    monkeypatch.setenv("OPENAI_MODEL", "some-model")
    assert call_llm("Say: ready") == "ready"
    assert endpoint.requests[0]["path"] == "/v1/chat/completions"
    assert endpoint.requests[0]["body"] == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "Say: ready"}],
    }


@pytest.mark.parametrize("value", [None, ""])
def test_the_model_has_a_default(serve, monkeypatch, value):
    endpoint = serve("ready")
    if value is not None:
        monkeypatch.setenv("OPENAI_MODEL", value)
    call_llm("Say: ready")
    assert endpoint.requests[0]["body"]["model"] == DEFAULT_MODEL == "gpt-6-luna"
