import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from caot.describe import (
    ClusterDescription,
    Description,
    Keyword,
    LabelWarning,
    labels_from_endpoint,
)
from caot.describe.endpoint import clean_label

TEXTS = ["reset my password", "lost password", "where is my invoice", "x" * 1000]


def cluster(number, term, examples):
    return ClusterDescription(
        number, term.title(), (Keyword(term, 1.0),), 2, 0.5, 0.9, examples, (), ()
    )


DESCRIPTION = Description((cluster(0, "password", (0, 1)), cluster(3, "invoice", (2, 3))))


class Endpoint:
    """A server that answers with the replies in turn and remembers what it was sent."""

    def __init__(self, replies):
        self.replies, self.requests = list(replies), []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append((self.path, dict(self.headers), json.loads(body)))
                status, data = outer.replies[(len(outer.requests) - 1) % len(outer.replies)]
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                outer.requests.append((self.path, {}, None))
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def says(content):
    return 200, json.dumps({"choices": [{"message": {"content": content}}]}).encode()


def ask(endpoint, **settings):
    return labels_from_endpoint(
        DESCRIPTION, TEXTS, base_url=endpoint.url, model="m", timeout=5, **settings
    )


def test_labels_are_written_by_the_model():
    with Endpoint([says("Forgotten passwords"), says("Invoice questions")]) as endpoint:
        named = ask(endpoint, api_key="secret", n_texts=1)
    assert named.labels == {0: "Forgotten passwords", 3: "Invoice questions"}
    assert named.clusters[0].keywords == DESCRIPTION.clusters[0].keywords
    path, headers, body = endpoint.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer secret"
    assert body["model"] == "m"
    sent = json.loads(body["messages"][-1]["content"])
    assert sent == {"keywords": ["password"], "texts": ["reset my password"]}


def test_no_key_no_header_and_long_texts_are_cut():
    with Endpoint([says("A"), says("B")]) as endpoint:
        ask(endpoint)
    assert "Authorization" not in endpoint.requests[0][1]
    sent = json.loads(endpoint.requests[1][2]["messages"][-1]["content"])
    assert [len(text) for text in sent["texts"]] == [19, 300]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ((500, b"oops"), "status 500"),
        ((302, b""), "status 302"),
        ((200, b"<html>"), "not JSON"),
        ((200, b"\xff\xfe\x00"), "not JSON"),
        ((200, b"[]"), "no label"),
        ((200, b'{"choices": []}'), "no label"),
        (says(None), "no label"),
        (says(' "" \n\x07 '), "no label"),
    ],
)
def test_a_bad_answer_keeps_the_keywords(reply, reason):
    with (
        Endpoint([reply, says("Invoices")]) as endpoint,
        pytest.warns(LabelWarning, match=f"1 of 2 clusters.*{reason}"),
    ):
        named = ask(endpoint, api_key="k")
    assert named.labels == {0: "Password", 3: "Invoices"}
    assert all(path == "/v1/chat/completions" for path, _, _ in endpoint.requests)


def test_an_endpoint_that_is_down_is_left_alone():
    many = Description(tuple(cluster(i, f"word{i}", (0,)) for i in range(6)))
    with Endpoint([(503, b"")]) as endpoint, pytest.warns(LabelWarning, match="6 of 6"):
        named = labels_from_endpoint(many, TEXTS, base_url=endpoint.url, model="m")
    assert len(endpoint.requests) == 3
    assert named == many
    with pytest.warns(LabelWarning, match="cannot be reached"):
        assert labels_from_endpoint(many, TEXTS, base_url=endpoint.url, model="m") == many


def test_equal_labels_are_told_apart():
    with Endpoint([says("Questions"), says("questions")]) as endpoint:
        assert ask(endpoint).labels == {0: "Questions · password", 3: "questions · invoice"}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://example.org/v1", "unencrypted"),
        ("http://127.0.0.1.example.org/v1", "unencrypted"),
        ("http://localhost.example.org", "unencrypted"),
        ("file:///etc/passwd", "give an address"),
        ("ftp://localhost/v1", "give an address"),
        ("example.org/v1", "give an address"),
    ],
)
def test_only_safe_addresses(url, message):
    with pytest.raises(ValueError, match=message):
        labels_from_endpoint(DESCRIPTION, TEXTS, base_url=url, model="m")


def test_insecure_addresses_when_allowed():
    empty = Description(())  # no cluster, so nothing is sent
    url = "http://example.org/v1"
    assert labels_from_endpoint(empty, TEXTS, base_url=url, model="m", allow_insecure=True) == empty


def test_a_key_with_a_line_end_is_refused():
    with pytest.raises(ValueError, match="line ends"):
        labels_from_endpoint(
            DESCRIPTION, TEXTS, base_url="http://localhost:1", model="m", api_key="a\nb"
        )


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ('  "Password reset."\nBecause they ask', "Password reset"),
        ("\n\n**Label: Late parcels**", "Late parcels"),
        ("<think>hmm\nlet me see</think>\nReturns", "Returns"),
        ("<think>never ends", ""),
        ("a\x00b\u202ec\x1b[31m", "a b c [31m"),
        ("word " * 30, "word word word word word word word word word word word…"),
        ("C++ · C#", "C++ · C#"),
    ],
)
def test_replies_are_cleaned(reply, label):
    assert clean_label(reply) == label
    assert len(clean_label(reply)) <= 60
