from caot.describe.tokens import WEAK, Analyser, is_run, term_key, words

STOP = frozenset({"the", "my", "of", "de", "le", "for"})


def terms(text, ngram_range=(1, 1), stop_words=STOP):
    return [term.removeprefix(WEAK) for term in Analyser(stop_words, ngram_range)(text)]


def test_addresses_handles_numbers_and_single_letters_are_no_terms():
    text = "see https://x.org/a?b=1 www.y.de bit.ly/z a@b.com @someone 2024 12.5 x &amp; end"
    assert terms(text) == ["see", "end"]


def test_names_with_signs_stay_whole():
    text = "C++ and C# with .NET node.js e-mail AT&T PL/SQL"
    assert terms(text, stop_words=frozenset({"and", "with"})) == [
        "C++", "C#", ".NET", "node.js", "e-mail", "AT&T", "PL/SQL"
    ]  # fmt: skip


def test_apostrophes_cut_latin_words_but_not_cyrillic_ones():
    assert terms("l'utilisateur user's комп'ютер") == ["utilisateur", "user", "комп'ютер"]


def test_marks_do_not_cut_words():
    assert terms("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert terms("cafe\u0301") == ["cafe\u0301"]


def test_phrases_are_adjacent_words():
    assert terms("reset for password", (2, 2)) == []
    assert terms("reset my password", (2, 2)) == ["reset password"]
    assert terms("reset, password", (2, 2)) == []
    assert terms("reset password", (2, 2)) == ["reset password"]


def test_links_stand_inside_phrases_only():
    assert terms("le mot de passe", (1, 2)) == ["mot", "mot de passe", "passe"]
    assert terms("mot de", (1, 2)) == ["mot"]
    assert terms("mot de le passe", (2, 2)) == []
    assert term_key("mot de passe") == ("mot", "passe")


def test_numbers_stand_inside_phrases_never_first_or_alone():
    assert terms("Windows 7", (1, 2)) == ["Windows", "Windows 7"]
    assert terms("7 Windows", (1, 2)) == ["Windows"]
    assert terms("OS X", (1, 2)) == ["OS", "OS X"]


def test_three_words():
    assert terms("central african republic", (3, 3)) == ["central african republic"]


def test_capitals_of_a_start_are_weak():
    found = Analyser(STOP, (1, 1))("Reset Excel. Password lost")
    assert found == [WEAK + "Reset", "Excel", WEAK + "Password", "lost"]
    assert Analyser(STOP, (1, 1))("the Oracle") == ["Oracle"]


def test_scripts_without_spaces_give_runs():
    assert terms("密码重") == ["密码", "码重", "密码重"]
    assert terms("我的密码", stop_words=frozenset({"我", "的"})) == ["密码"]
    assert terms("パスワードを再設定") == ["パスワード", "再設", "設定", "再設定"]
    assert all(is_run(term) for term in terms("密码"))
    assert not is_run("パスワード")


def test_thai_runs_keep_marks_with_their_letter():
    found = terms("ผ่านได้")
    assert found
    assert all(term[0] not in "่้" for term in found)


def test_keys_forget_case_and_hyphens():
    assert term_key(WEAK + "E-Mail Address") == ("email", "address")
    assert term_key("-") == ("-",)


def test_words_are_lower_case():
    assert words("Where is MY order? http://x.y/z 密码") == ["where", "is", "my", "order"]
