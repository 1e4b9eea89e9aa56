"""Sentences of running text: an example is a text with ¦ before each sentence but the first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data import sentences as module
from headway.data.sentences import split_sentences, splitting_language

from .counted import Counted

EXAMPLES = {
    "en": [
        "Dr. Smith went to Washington. ¦He stayed for 3.5 days.",
        "The U.S. economy grew by 2.3% in Q1. ¦Analysts were surprised.",
        "He works for Acme Inc. and lives in St. Louis. ¦She does not.",
        '"I am going," she said. ¦"Are you coming?" ¦He nodded.',
        'She said, "Go home." ¦Then she left.',
        "“He went home now.” ¦Then he came back.",
        "Wait... what did you say?",
        "I don't know... ¦Maybe we should go.",
        "Use e.g. a hammer, i.e. something heavy, etc. and hit it.",
        "Visit www.example.com for more. ¦Or write to info@example.com today!",
        "See Fig. 3 and Sec. 4.2 for details. ¦All values are in mm.",
        "The meeting is at 5 p.m. tomorrow.",
        "The meeting ended at 5 p.m. ¦Everyone went home.",
        "Really?! ¦Yes! ¦No way.",
        "(He was late.) ¦She was not.",
        "He was late (as usual). ¦She was not.",
        "J. R. R. Tolkien wrote it. ¦C. S. Lewis did not.",
        "It costs $3.50. ¦That is cheap.",
        "Version 2.0.1 is out. ¦Install it now.",
        "Mr. and Mrs. Brown met Prof. Jones vs. Dr. Lee.",
        "1. Open the door. ¦2. Close the door.",
        "No. 5 is alive. ¦So am I.",
        "What? ¦who said that?",
        "She arrived on Jan. 5, 2020. ¦It was cold.",
        "This is one sentence.¦This is another.",
        "Hello! ¦My name is Bob. ¦What's yours?",
        "A dog runs. ¦A cat sits. ¦Two men in blue shirts walk.",
        "Yahoo! is a company.",
        'He asked "Why?" and left.',
        "I was born in the U.S. ¦My wife was not.",
        "The Ph.D. student left. ¦He was tired.",
        "A man is standing on a ladder",
        "Gen. Lee met Col. Brown at 10 a.m. on Monday. ¦They talked until noon.",
        "The No. 1 seed, A. Murray, won 6-4, 6-3. ¦Fans cheered!",
        "Pi is about 3.14159. ¦Euler's number is about 2.718.",
        "Prices rose 0.5% vs. 0.3% in Sept. of last year. ¦Nobody knew why.",
        '"Stop!" he cried. ¦"You can\'t go there. ¦It is closed." ¦She went anyway.',
        "‘Is it far?’ asked the boy. ¦‘Not at all,’ said the man.",
        "The list: (a) apples; (b) pears. ¦Buy both.",
        "We need: 1. milk, 2. eggs and 3. bread. ¦Thanks!",
        "She paused... then spoke. ¦Nobody listened.",
        '"Well…" ¦He sighed.',
        "He lives at 10 Downing St. and works in the U.K. ¦His wife does too.",
        "The file is named setup.py. ¦Run it with python3 setup.py install.",
        "Apple Inc. (AAPL) rose. ¦Google fell.",
        "What time is it?¦It is late.",
        "That was fun!¦Let's do it again.",
        'He said (quietly) "no." ¦Then he left.',
        "J.K. Rowling and J.R.R. Tolkien are authors. ¦Both are famous.",
        '"No," she said, "I won\'t." ¦He shrugged.',
        # A lower-case word after a stop, behind a known abbreviation and an unknown one.
        "He has approx. two dogs. ¦They bark.",
        "The subj. line of it.",
        "The max. speed.",
        "A tel. number.",
        # Abbreviations before numbers, sums and capital letters.
        "It cost approx. $3.50 on May 3.",
        "A man, approx. 30 years old, sits.",
        "A dog (est. 5 years) runs. ¦A box of misc. Items stands there.",
        "The price is 30 EUR incl. VAT. ¦It is fair.",
        "Vol. 5 and ch. 3 cost max. EUR 30. ¦They are old.",
        "Call tel. 030 12345. ¦He answers.",
        "It takes 2 hrs. 30 mins. in all. ¦Wait 5 min. ¦Then go.",
        "He is at his max. ¦Then he stops.",
        # Lower case throughout, or after each stop.
        "he has approx. two dogs. ¦he likes them.",
        "hi. ¦how are you. ¦fine.",
        "Thanks. ¦i am here.",
        "Hi there. ¦how are you. ¦we are fine.",
        "a dog runs . ¦two men walk .",
        "Peter left . ¦the dog ran .",
        # Names that begin a sentence in lower case.
        "He bought a phone. ¦iPhone sales rose.",
        "See the page. ¦json.dumps writes it. ¦maxsize is a number.",
    ],
    "de": [
        "Das ist z. B. ein Haus. ¦Es steht am Rhein.",
        "Das ist z.B. ein Haus. ¦Es steht am Rhein.",
        "Am 3. Oktober feiern wir. ¦Das ist ein Feiertag.",
        "Dr. Müller wohnt in der Hauptstr. 5. ¦Er ist Arzt.",
        "Er sagte: „Ich komme.“ ¦Dann ging er.",
        "»Wer ist da?« ¦Niemand antwortete.",
        "Das kostet ca. 3,50 Euro bzw. mehr. ¦Das ist billig.",
        "Die Firma hat 1.000.000 Euro verdient. ¦Gut so!",
        "Das gilt u. a. für Kinder usw. und für Erwachsene.",
        "Friedrich II. war König. ¦Er lebte in Potsdam.",
        "Warum? ¦Weil es regnet.",
        "Ein Mann steht auf einer Leiter. ¦Zwei Hunde rennen.",
        "Die 2. Auflage erschien am 1.5.2020. ¦Sie war teuer.",
        "Prof. Dr. med. Schmidt kommt um 8.30 Uhr an.",
        "Ich weiß nicht ... ¦Vielleicht morgen.",
        "Das Buch hat ca. 300 S. und kostet 12,50 €. ¦Es ist gut.",
        "»Komm!«, rief er. ¦»Es ist spät.«",
        "Er kam im 3. Stock an. ¦Niemand war da.",
        "Vgl. dazu Abb. 2 auf S. 14. ¦Dort steht alles.",
        "Das kostet inkl. MwSt. 30 Euro, zzgl. Versand. ¦Das ist viel.",
        "Er fährt max. Tempo 30 mit mind. Anhänger, bzw. Max. ¦Dann nicht.",
        "Tel. Nr. 5 in der Hauptstr. 3, Abt. Einkauf. ¦Ruf ggf. Peter, evtl. Anna an.",
        "Das sind z. B. sog. Hunde, d. h. ca. 30 Tiere usw. und mehr. ¦Gut.",
    ],
    "ko": [
        "제 형은 어제 사과 세 개를 먹었습니다. ¦저는 학생입니다. ¦수지는 매주 탁구를 칩니다.",
        '그는 "집에 가요."라고 말했다. ¦그리고 떠났다.',
        '"나는 갑니다." ¦그가 말했다.',
        "정말요? ¦네! ¦그렇습니다.",
        "값은 3.5달러입니다. ¦싸지요?",
        "파이썬 3.11을 설치하세요. ¦그다음 실행합니다.",
        "그는 갔다… ¦나는 남았다.",
        "오늘은 2020. 5. 3. 일요일이다.",
        "2020. 5. 3.에 사진을 보았다.",
        "그는 왔다. ¦2020. 5. 3.에 찍은 사진을 보았다. ¦나는 웃었다.",
        "2020. 5.에 만났다. ¦2021.에 떠났다.",
        "2020. 5. 3. 오후 세 시에 만났다. ¦2021. 12. 31. 헤어졌다.",
        "2020. 05. 03. 10시에 시작한다. ¦'21. 5. 3. 10:30에 끝난다.",
        "2020. 5. 3. K팝 공연을 보았다.",
        "2020. 5. 3.(일)부터 2020. 5. 10.까지 쉰다.",
        "2020. 5. 3.",
        "2020. 5. 3. ¦1. 문을 여세요. ¦2. 문을 닫으세요.",
        "1. 2020. ¦2. 2021.",
        "1. 문을 여세요. ¦2. 문을 닫으세요.",
        "갔습니다.¦그리고 왔습니다.",
        "(그는 늦었다.) ¦그녀는 아니었다.",
        "‘가자.’ ¦그가 말했다.",
        "“어디 가니?” ¦어머니가 물었다.",
        "A.B.씨는 Dr. Kim을 만났다. ¦둘은 웃었다.",
        "김 씨는 3.5km를 걸었습니다. ¦그다음 쉬었습니다.",
        '"안녕하세요?"라고 인사했다. ¦그는 웃었다.',
        "“비가 온다.” 하고 말했다. ¦우리는 집에 갔다.",
        "우리 회사(주식회사 가.나.다)는 서울에 있습니다. ¦직원은 50명입니다.",
        "2026년 11. 29. 일요일에 만났습니다. ¦날씨가 추웠습니다.",
        "https://example.com/a.html 을 보세요. ¦거기 다 있습니다.",
        "그는 말했다. ¦“저는 갑니다. ¦당신은요?”",
        "저는 학생입니다.¦수지는 의사입니다.",
        "Python을 쓴다. ¦pip로 설치한다.",
    ],
    "ja": [
        "私は学生です。¦彼は先生です。",
        "「行きます。」と彼は言った。¦そして去った。",
        "本当ですか？¦はい！¦そうです。",
        "値段は3.5ドルです。¦安いですね。",
        "私は…行きません。",
        "彼は来た。¦ 彼女は来なかった。",
        "（彼は遅れた。）¦彼女は遅れなかった。",
        "今日は晴れ！？¦信じられない。",
        "Windows 11を使います。¦Macは使いません。",
        "「今日は暑い。¦明日は寒い。」と彼は言った。¦私は笑った。",
        "第1.2節を見てください。¦詳しく書いてあります。",
        "本当に！？¦嘘でしょう。",
    ],
    "zh": [
        "我买窗户。¦他们明天去。¦我们明天来。",
        "他说：“我来了。”¦然后他走了。",
        "你好吗？¦我很好！¦谢谢。",
        "价格是3.5元。¦很便宜。",
        "「你好。」¦他说。",
        "他问：“你去吗？”¦我说：“不去。”",
        "我有3.5元。¦你有多少？",
    ],
    "hi": [
        "वह घर गया। ¦मैं यहाँ हूँ। ¦तुम कहाँ हो?",
        "राम घर गया।¦ सीता बाज़ार गई।",
    ],
    "ar": [
        "هل أنت هنا؟ ¦نعم. ¦أنا هنا.",
    ],
    "ur": [
        "میں گھر گیا۔ ¦وہ یہاں ہے۔",
    ],
    "am": [
        "እኔ ተማሪ ነኝ። ¦እሱ መምህር ነው።",
    ],
    "th": [
        "ผมไปโรงเรียน เขาไปบ้าน",
    ],
    "my": [
        "သူသွားသည်။ ¦ကျွန်တော်ရှိသည်။",
    ],
    "el": [
        "Πού είσαι; ¦Είμαι εδώ.",
    ],
    "fr": [
        "Il est là. ¦« Bonjour ! » ¦M. Dupont est parti. ¦Où est-il ?",
        "« Je viens. » ¦Puis il est parti.",
        "Il a dit « oui ! » et il est parti.",
    ],
    "es": [
        "¿Dónde estás? ¦¡Aquí! ¦El Sr. García llegó a las 3.30. ¦No sé.",
    ],
    "ru": [
        "Он живёт на ул. Ленина. ¦Это г. Москва. ¦Ему 5 лет и т. д. и т. п.",
        "«Кто там?» ¦Никто не ответил.",
    ],
    "af": [
        "Dit is mnr. Botha. ¦Hy woon in Kaapstad bv. by 'n vriend. ¦'n Hond blaf.",
        "Die sentrum is oop. ¦Wie kom?",
        "Ek gaan. ¦'n Hond blaf.",
    ],
    "ka": [
        "Python კარგია. ¦ის მოვიდა.",
    ],
}


@pytest.mark.parametrize(
    ("language", "marked"), [(code, text) for code, texts in EXAMPLES.items() for text in texts]
)
def test_sentences_begin_where_a_reader_says(language: str, marked: str) -> None:
    sentences = split_sentences(marked.replace("¦", ""), language)

    assert "¦".join(sentences) == marked.replace("¦ ", " ¦")


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        # Ends before closing quotation marks and brackets, of several scripts.
        ("en", "She went home now.” ¦Then he came. ¦Nobody saw her."),
        ("fr", "Il est parti. » ¦Puis il revint."),
        ("ja", "彼は言った。」¦そして去った。"),
        ("zh", "他走了。）¦我留下了。"),
        ("en", "He was late.) ¦She was not."),
        ("hi", "वह गया। ¦मैं यहाँ हूँ। ¦तुम?"),
        ("fa", "آیا او رفت؟ ¦بله. ¦من هستم."),
        ("ur", "میں گھر گیا۔ ¦وہ یہاں ہے۔"),
        ("am", "እኔ ነኝ። ¦እሱ ነው።"),
        ("en", "Is this O.K.? ¦I think so. ¦Let's go!"),
        ("en", "Hello, world :) ¦How are you?"),
        ("ko", "정말 좋았어요!! ¦또 오고 싶어요~ ¦감사합니다^^"),
        ("de", "Die Fa. Maier liefert am 24. Dezember nicht. ¦Bitte bestellen Sie früher."),
        # In a text of tokens, where a mark of its own ends a sentence.
        ("en", "a dog runs . ¦two men walk ."),
        ("en", "he wears a shirt that says &quot; welcome . &quot;"),
        # Names of programs have points within them.
        ("en", "Both threading.Lock and asyncio.Lock are locks. ¦Use either."),
        ("ko", "collections.OrderedDict를 보세요. ¦json.dumps()도 있습니다."),
        # Spaces that are not U+0020, and none.
        ("en", "One.\u00a0\u00a0¦Two.\t¦Three."),
        ("ja", "一です。\u3000¦二です。¦三です。"),
    ],
)
def test_ends_of_other_scripts_tokens_and_names(language: str, marked: str) -> None:
    sentences = split_sentences(marked.replace("¦", ""), language)

    assert "¦".join(sentences) == marked


@pytest.mark.parametrize(
    "text", ["", " ", "…", "!!!", "No end", "😀 😀.", " Hello. ", "\ud800. \udfff."]
)
def test_a_text_of_one_sentence_or_none_is_itself(text: str) -> None:
    assert split_sentences(text) == [text]


CHARACTERS = st.sampled_from(
    [*"abC1 .!?…\"'“”()。」「가나다라\n\u00a0\ud800😀,;·", "다. ", "e.g. ", ".) "]
)


@given(
    st.lists(CHARACTERS, max_size=30).map("".join), st.sampled_from(["en", "ko", "ja", "de", "xx"])
)
def test_sentences_are_the_text_and_each_has_a_word(text: str, language: str) -> None:
    sentences = split_sentences(text, language)

    assert "".join(sentences) == text
    if len(sentences) > 1:
        assert all(any(map(str.isalnum, sentence)) for sentence in sentences)
        assert not any(sentence[0].isspace() for sentence in sentences[1:])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Korean", "ko"), ("korean (formal)", "ko"), ("ko", "ko"), ("ko_KR", "ko"),
        ("zh-Hans", "zh"), ("deu_Latn", "de"), ("German", "de"), ("日本語", "ja"), ("af", "af"),
        ("source", "en"), ("", "en"), ("Klingon", "en"), (" EN ", "en"),
        ("kor", "ko"), ("Deutsch", "de"), ("Zulu", "zu"), ("Irish", "ga"),
    ],
)  # fmt: skip
def test_languages_are_known_by_name_and_by_code(name: str, code: str) -> None:
    assert splitting_language(name) == code


@pytest.mark.parametrize(
    "sentence",
    [
        "The cat sat on a mat. ",
        "One &amp; two sat here. ",
        "the cat (and a dog) sat. then, ",
        "... ",
    ],
)
def test_a_long_text_is_looked_at_as_often_as_a_short_one(
    sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[Counted] = []
    shown = module._shown

    def counted(text: str) -> Counted:
        texts.append(Counted(text))
        return texts[-1]

    monkeypatch.setattr(module, "_shown", lambda text: counted(shown(text)))

    def taken(count: int) -> int:
        texts.clear()
        split_sentences(counted(sentence * count + "End."))
        return sum(text.taken for text in texts)

    # Twice the text takes twice as many, but for the ends, where less is near.
    assert taken(200) < 2.2 * taken(100)
