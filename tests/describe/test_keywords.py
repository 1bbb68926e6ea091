import numpy as np
import pytest
import scipy.sparse

from caot.describe.keywords import cluster_keywords, similar_terms, similar_words
from caot.describe.terms import class_tfidf, count_terms

STOP = frozenset({"i", "my", "the", "is", "how", "to", "do", "a", "not"})


def keywords(groups, n_keywords=10, stop_words=STOP, ngram_range=(1, 2)):
    texts = [text for group in groups for text in group]
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found = cluster_keywords(
        texts,
        codes,
        len(groups),
        n_keywords=n_keywords,
        stop_words=stop_words,
        ngram_range=ngram_range,
    )
    return [[one.term for one in some] for some in found]


INVOICES = ["the invoice is wrong", "invoice missing", "where invoice", "invoices again"]


def test_weights_follow_the_formula():
    counts = scipy.sparse.csr_array(np.array([[3, 1, 0], [0, 1, 3]]))
    expected = np.array([[3 / 4 * np.log(1 + 4 / 3), 1 / 4 * np.log(1 + 4 / 2), 0]])
    weights = class_tfidf(counts).toarray()
    np.testing.assert_allclose(weights[:1], expected)
    np.testing.assert_allclose(weights[1], weights[0, ::-1])


def test_words_of_all_clusters_weigh_less():
    first, second = keywords(
        [["printer problem", "printer jam problem"], ["login problem", "login failed problem"]]
    )
    assert first[0] == "printer"
    assert second[0] == "login"


def test_plurals_and_capitals_are_one_keyword_in_its_commonest_form():
    (found, _) = keywords([["a Login", "my login", "the logins", "login"], INVOICES])
    assert found == ["login"]


def test_a_name_is_no_plural():
    texts = [
        "a Windows crash",
        "my Windows update",
        "the window open",
        "a window",
        "the bugs",
        "bug",
    ]
    codes = np.zeros(6, dtype=np.int64)
    table = count_terms(texts, codes, 1, stop_words=STOP, ngram_range=(1, 1))
    assert {("windows",), ("window",), ("bug",)} <= set(table.keys)
    assert ("bugs",) not in table.keys


@pytest.mark.parametrize("name", ["iPhone", "SQL", "WordPress"])
def test_names_keep_their_capitals(name):
    groups = [[f"my {name} hangs", f"the {name}", f"a {name.lower()}"], INVOICES]
    assert keywords(groups)[0][0] == name


def test_a_sentence_start_does_not_make_a_name():
    groups = [["Password lost", "Password gone", "Password", "my password"], INVOICES]
    assert keywords(groups)[0][0] == "password"


def test_a_phrase_speaks_for_its_words_in_either_order():
    found, _ = keywords(
        [
            ["password reset link", "reset password", "a password reset", "the password reset"],
            INVOICES,
        ]
    )
    assert found[0] == "password reset"
    assert not {"password", "reset", "reset password"} & set(found)


def test_a_chance_phrase_does_not_replace_a_word():
    texts = [f"printer {word}" for word in ("broken", "jam", "offline", "ink", "paper", "slow")]
    found, _ = keywords([[*texts, "printer jam"], INVOICES])
    assert found[0] == "printer"
    assert "printer jam" not in found


def test_no_two_keywords_share_a_word():
    texts = ["visual studio crash", "visual studio debug", "debugging visual studio", "studio code"]
    found, _ = keywords([texts, INVOICES])
    split = [word.casefold() for term in found for word in term.split()]
    assert len(split) == len(set(split))
    assert len({"debug", "debugging"} & set(split)) == 1


def test_repeated_words_are_no_phrase():
    found, _ = keywords([["ap ap report", "ap ap news", "ap ap"], INVOICES])
    assert "ap ap" not in found


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("login", "logins", True),
        ("debug", "debugging", True),
        ("merge", "merging", True),
        ("shopping", "shopper", True),
        ("rechnung", "rechnungen", True),
        ("java", "javascript", False),
        ("v1beta", "v2beta", False),
        ("release1", "release2", False),
        ("linq", "linux", False),
        ("string", "strong", False),
    ],
)
def test_similar_words(first, second, alike):
    assert similar_words(first, second) is alike
    assert similar_words(second, first) is alike


def test_similar_terms():
    assert similar_terms(("web", "part"), ("webpart",))
    assert similar_terms(("password",), ("password", "reset"))
    assert not similar_terms(("card",), ("refund",))


def test_a_cluster_of_stop_words_is_described_by_them():
    first, second = keywords([["how to do", "how is the"], INVOICES])
    assert first[0] == "how"
    assert second[0] == "invoice"


def test_a_cluster_without_words_has_no_keywords():
    assert keywords([["123", "!!!", ""], INVOICES])[0] == []
    assert keywords([["", " "], ["42"]]) == [[], []]


def test_chinese_runs_without_fragments():
    found, _ = keywords(
        [["忘记密码重置", "密码重置邮件", "如何密码重置"], INVOICES], stop_words=frozenset({"如何"})
    )
    assert found[0] == "密码重置"
    assert not any(term in "密码重置" for term in found[1:])


def test_the_order_of_texts_does_not_matter():
    group = ["red car fast", "blue bike slow", "green bus late", "red bike"]
    assert keywords([group, INVOICES]) == keywords([group[::-1], INVOICES[::-1]])


def test_as_many_as_asked():
    assert len(keywords([["alpha beta gamma delta"], INVOICES], n_keywords=2)[0]) == 2
    assert keywords([["alpha"], INVOICES], n_keywords=0) == [[], []]
