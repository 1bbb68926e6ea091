from caot.describe.labels import EMPTY_LABEL, make_labels, numbered, shorten
from caot.describe.values import Keyword

TWO = ["one text", "another"]


def weighted(*terms, step=0.1):
    return tuple(Keyword(term, 1 - step * i) for i, term in enumerate(terms))


def test_two_keywords_and_a_third_that_weighs_enough():
    light = (Keyword("password reset", 1.0), Keyword("locked account", 0.5), Keyword("code", 0.2))
    heavy = (*light[:2], Keyword("code", 0.4))
    assert make_labels([0], [light], [TWO]) == ["Password reset · locked account"]
    assert make_labels([0], [heavy], [TWO]) == ["Password reset · locked account · code"]


def test_a_second_keyword_of_no_weight_is_left_out():
    assert make_labels([0], [(Keyword("SQL", 1.0), Keyword("x", 0.01))], [TWO]) == ["SQL"]


def test_names_keep_their_form_at_the_start():
    firsts = ["iPhone", "mod_rewrite", ".NET", "wi-fi", "éclair"]
    labels = make_labels(range(5), [weighted(first) for first in firsts], [TWO] * 5)
    assert labels == ["iPhone", "mod_rewrite", ".NET", "Wi-fi", "Éclair"]


def test_equal_labels_go_on_with_a_keyword_of_their_own():
    first = weighted("login", "password", "vpn", "shared", "laptop", step=0.4)
    second = weighted("password", "login", "vpn", "shared", "phone", step=0.4)
    labels = make_labels([0, 1], [first, second], [TWO] * 2)
    assert labels == ["Login · password · laptop", "Password · login · phone"]


def test_labels_without_any_difference_are_numbered():
    same = weighted("login", "password")
    labels = make_labels([0, 1, 2], [same] * 3, [TWO] * 3)
    assert labels == ["Login · password", "Login · password (2)", "Login · password (3)"]


def test_fallbacks():
    texts = [["12345", "9", "9"], ["", "  "], ["\x00\x01", "\u200b"], [" "]]
    labels = make_labels([4, 5, 6, 7], [()] * 4, texts)
    assert labels == ["9", EMPTY_LABEL, "cluster 6", f"{EMPTY_LABEL} (2)"]


def test_one_short_text_is_its_own_label():
    words = weighted("order")
    assert make_labels([0], [words], [["Where is my  order?", "where is my order?"]]) == [
        "Where is my order?"
    ]
    assert make_labels([0], [words], [["order " * 20]]) == ["Order"]


def test_numbers_avoid_labels_that_exist():
    assert numbered(["a", "A", "a (2)"]) == ["a", "A (2)", "a (2) (2)"]


def test_shortened_texts_end_between_words():
    assert shorten("a\nb\x00 c") == "a b c"
    assert shorten("hello world again", 14) == "hello world…"
    assert shorten("x" * 80) == "x" * 59 + "…"
