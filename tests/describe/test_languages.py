import pytest

from caot.describe import LANGUAGES, detect_language
from caot.describe.languages import function_words, resolve_stop_words

SENTENCES = {
    "en": "where is the invoice that I was sent and how do I pay it",
    "de": "wo ist die Rechnung und wie kann ich sie bezahlen, wenn ich nicht da bin",
    "fr": "je ne sais pas où est la facture et comment je peux la payer avec ma carte",
    "es": "no sé dónde está la factura y cómo puedo pagar con mi tarjeta",
    "it": "non so dove è la fattura e come posso pagare con la mia carta",
    "pt": "não sei onde está a fatura e como posso pagar com o meu cartão",
    "nl": "ik weet niet waar de factuur is en hoe ik met mijn kaart kan betalen",
    "sv": "jag vet inte var fakturan är och hur jag kan betala med mitt kort",
    "da": "jeg ved ikke hvor fakturaen er og hvordan jeg kan betale med mit kort, hvis det går",
    "no": "jeg vet ikke hvor fakturaen er og hvordan jeg kan betale med kortet mitt, hva nå",
    "fi": "en tiedä missä lasku on ja miten voin maksaa sen kortilla",
    "pl": "nie wiem gdzie jest faktura i jak mogę zapłacić kartą",
    "ru": "не знаю где мой счет и как я могу его оплатить",
    "uk": "не знаю де мій рахунок і як я можу його оплатити, що робити",
    "tr": "fatura nerede ve nasıl ödeme yapabilirim, bu çok önemli bir şey",
    "cs": "nevím kde je faktura a jak ji můžu zaplatit, když nejsem doma",
    "ro": "nu știu unde este factura și cum pot să plătesc cu cardul",
    "hu": "nem tudom hol van a számla és hogyan lehet fizetni",
    "el": "δεν ξέρω πού είναι το τιμολόγιο και πώς μπορώ να πληρώσω",
    "id": "saya tidak tahu di mana tagihan itu dan bagaimana saya bisa membayar dengan kartu",
    "ar": "لا أعرف أين هذه الفاتورة و كيف يمكن الدفع من هنا",
    "zh": "我不知道发票在哪里",
    "ja": "請求書はどこですか",
    "th": "ใบเสร็จอยู่ที่ไหน",
    "ko": "청구서는 어디에 있습니까",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_each_language_is_told_from_the_others(code):
    assert detect_language([SENTENCES[code]] * 3) == (code, 1.0)


def test_every_language_has_words_and_every_file_a_language():
    for code in LANGUAGES:
        listed = function_words(code)
        assert len(listed) > 25
        assert all(word == word.lower() for word in listed)


def test_the_share_counts_texts_that_say_something():
    texts = [SENTENCES["de"]] * 6 + [SENTENCES["en"]] * 2 + ["Visual Studio", ""]
    assert detect_language(texts) == ("de", 0.75)


@pytest.mark.parametrize("texts", [[], ["", " "], ["Visual Studio", "12"]])
def test_nothing_to_tell(texts):
    assert detect_language(texts) == (None, 0.0)


def test_chance_words_are_no_language():
    texts = ["kuala tondro simba mwenye nyumba kubwa sana kwetu haraka pole pole habari do"] * 5
    assert detect_language(texts) == (None, 0.0)


def test_a_large_collection_is_sampled_evenly():
    texts = [SENTENCES["en"]] * 6000 + [SENTENCES["de"]] * 4000
    code, share = detect_language(texts)
    assert code == "en"
    assert share == pytest.approx(0.6, abs=0.01)


def test_auto_takes_every_language_of_a_mixed_collection():
    texts = [SENTENCES["de"]] * 5 + [SENTENCES["en"]] * 5
    found = resolve_stop_words("auto", texts)
    assert {"und", "the"} <= found
    assert "avec" not in found


def test_settings_of_stop_words():
    assert resolve_stop_words(None, ["the"]) == frozenset()
    assert resolve_stop_words("de", []) == resolve_stop_words("German", []) == function_words("de")
    assert resolve_stop_words(["de", "fr"], []) == function_words("de") | function_words("fr")
    assert resolve_stop_words(["Foo", "de"], []) == {"foo", "de"}
    assert resolve_stop_words([], []) == frozenset()


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match=r"'klingon'.*choose.*en"):
        resolve_stop_words("klingon", [])
    with pytest.raises(TypeError, match="not a string"):
        resolve_stop_words([1], [])
