"""Korean endings, against forms written down by hand for every class of stem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.sample_corpus import conjugation as ko
from headway.sample_corpus.hangul import final_of

# dictionary form, class, present, past, prospective, past adnominal, "if"
VERBS = [
    ("먹다", "", "먹습니다", "먹었습니다", "먹을", "먹은", "먹으면"),
    ("잡다", "", "잡습니다", "잡았습니다", "잡을", "잡은", "잡으면"),
    ("닫다", "", "닫습니다", "닫았습니다", "닫을", "닫은", "닫으면"),
    ("씻다", "", "씻습니다", "씻었습니다", "씻을", "씻은", "씻으면"),
    ("읽다", "", "읽습니다", "읽었습니다", "읽을", "읽은", "읽으면"),
    ("닦다", "", "닦습니다", "닦았습니다", "닦을", "닦은", "닦으면"),
    ("가다", "", "갑니다", "갔습니다", "갈", "간", "가면"),
    ("오다", "", "옵니다", "왔습니다", "올", "온", "오면"),
    ("보다", "", "봅니다", "봤습니다", "볼", "본", "보면"),
    ("주다", "", "줍니다", "줬습니다", "줄", "준", "주면"),
    ("마시다", "", "마십니다", "마셨습니다", "마실", "마신", "마시면"),
    ("보내다", "", "보냅니다", "보냈습니다", "보낼", "보낸", "보내면"),
    ("켜다", "", "켭니다", "켰습니다", "켤", "켠", "켜면"),
    ("쉬다", "", "쉽니다", "쉬었습니다", "쉴", "쉰", "쉬면"),
    ("춤추다", "", "춤춥니다", "춤췄습니다", "춤출", "춤춘", "춤추면"),
    ("공부하다", "", "공부합니다", "공부했습니다", "공부할", "공부한", "공부하면"),
    ("쓰다", "", "씁니다", "썼습니다", "쓸", "쓴", "쓰면"),
    ("끄다", "", "끕니다", "껐습니다", "끌", "끈", "끄면"),
    ("잠그다", "", "잠급니다", "잠갔습니다", "잠글", "잠근", "잠그면"),
    ("만들다", "", "만듭니다", "만들었습니다", "만들", "만든", "만들면"),
    ("팔다", "", "팝니다", "팔았습니다", "팔", "판", "팔면"),
    ("썰다", "", "썹니다", "썰었습니다", "썰", "썬", "썰면"),
    ("굽다", "ㅂ", "굽습니다", "구웠습니다", "구울", "구운", "구우면"),
    ("돕다", "ㅂ", "돕습니다", "도왔습니다", "도울", "도운", "도우면"),
    ("줍다", "ㅂ", "줍습니다", "주웠습니다", "주울", "주운", "주우면"),
    ("듣다", "ㄷ", "듣습니다", "들었습니다", "들을", "들은", "들으면"),
    ("걷다", "ㄷ", "걷습니다", "걸었습니다", "걸을", "걸은", "걸으면"),
    ("짓다", "ㅅ", "짓습니다", "지었습니다", "지을", "지은", "지으면"),
    ("자르다", "르", "자릅니다", "잘랐습니다", "자를", "자른", "자르면"),
    ("부르다", "르", "부릅니다", "불렀습니다", "부를", "부른", "부르면"),
    ("고르다", "르", "고릅니다", "골랐습니다", "고를", "고른", "고르면"),
]
# dictionary form, class, present, past, attributive, "if", "so"
ADJECTIVES = [
    ("작다", "", "작습니다", "작았습니다", "작은", "작으면", "작아서"),
    ("얇다", "", "얇습니다", "얇았습니다", "얇은", "얇으면", "얇아서"),
    ("크다", "", "큽니다", "컸습니다", "큰", "크면", "커서"),
    ("바쁘다", "", "바쁩니다", "바빴습니다", "바쁜", "바쁘면", "바빠서"),
    ("예쁘다", "", "예쁩니다", "예뻤습니다", "예쁜", "예쁘면", "예뻐서"),
    ("길다", "", "깁니다", "길었습니다", "긴", "길면", "길어서"),
    ("달다", "", "답니다", "달았습니다", "단", "달면", "달아서"),
    ("좋다", "", "좋습니다", "좋았습니다", "좋은", "좋으면", "좋아서"),
    ("비싸다", "", "비쌉니다", "비쌌습니다", "비싼", "비싸면", "비싸서"),
    ("흐리다", "", "흐립니다", "흐렸습니다", "흐린", "흐리면", "흐려서"),
    ("친절하다", "", "친절합니다", "친절했습니다", "친절한", "친절하면", "친절해서"),
    ("춥다", "ㅂ", "춥습니다", "추웠습니다", "추운", "추우면", "추워서"),
    ("아름답다", "ㅂ", "아름답습니다", "아름다웠습니다", "아름다운", "아름다우면", "아름다워서"),
    ("빨갛다", "ㅎ", "빨갛습니다", "빨갰습니다", "빨간", "빨가면", "빨개서"),
    ("하얗다", "ㅎ", "하얗습니다", "하얬습니다", "하얀", "하야면", "하얘서"),
    ("빠르다", "르", "빠릅니다", "빨랐습니다", "빠른", "빠르면", "빨라서"),
    ("예의 바르다", "르", "예의 바릅니다", "예의 발랐습니다", "예의 바른", "예의 바르면",
     "예의 발라서"),
    ("재미있다", "", "재미있습니다", "재미있었습니다", "재미있는", "재미있으면", "재미있어서"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "kind", "now", "before", "will", "done", "when"), VERBS)
def test_verbs_take_their_hand_written_forms(
    word: str, kind: ko.Irregular, now: str, before: str, will: str, done: str, when: str
) -> None:
    assert ko.present(word) == now
    assert ko.past(word, kind) == before
    assert ko.prospective(word, kind) == will
    assert ko.done(word, kind) == done
    assert ko.condition(word, kind) == when


@pytest.mark.parametrize(("word", "kind", "now", "before", "such", "when", "so"), ADJECTIVES)
def test_adjectives_take_their_hand_written_forms(
    word: str, kind: ko.Irregular, now: str, before: str, such: str, when: str, so: str
) -> None:
    assert ko.present(word) == now
    assert ko.past(word, kind) == before
    assert ko.attributive(word, kind) == such
    assert ko.condition(word, kind) == when
    assert ko.reason(word, kind) == so


@pytest.mark.parametrize(
    ("word", "kind", "please", "ongoing", "must"),
    [
        ("읽다", "", "읽으십시오", "읽는", "읽어야"), ("열다", "", "여십시오", "여는", "열어야"),
        ("고치다", "", "고치십시오", "고치는", "고쳐야"),
        ("돕다", "ㅂ", "도우십시오", "돕는", "도와야"),
        ("나르다", "르", "나르십시오", "나르는", "날라야"),
        ("놀다", "", "노십시오", "노는", "놀아야"),
    ],
)  # fmt: skip
def test_requests_and_duties_take_their_hand_written_forms(
    word: str, kind: ko.Irregular, please: str, ongoing: str, must: str
) -> None:
    assert ko.request(word, kind) == please
    assert ko.ongoing(word) == ongoing
    assert ko.obligation(word, kind) == must


# dictionary form, class, and the present: polite, plain, a plain question, casual
STYLED = [
    ("가다", "", "가요", "간다", "가니", "가"), ("먹다", "", "먹어요", "먹는다", "먹니", "먹어"),
    ("보다", "", "봐요", "본다", "보니", "봐"),
    ("마시다", "", "마셔요", "마신다", "마시니", "마셔"),
    ("공부하다", "", "공부해요", "공부한다", "공부하니", "공부해"),
    ("만들다", "", "만들어요", "만든다", "만드니", "만들어"),
    ("쓰다", "", "써요", "쓴다", "쓰니", "써"), ("쉬다", "", "쉬어요", "쉰다", "쉬니", "쉬어"),
    ("듣다", "ㄷ", "들어요", "듣는다", "듣니", "들어"),
    ("돕다", "ㅂ", "도와요", "돕는다", "돕니", "도와"),
    ("짓다", "ㅅ", "지어요", "짓는다", "짓니", "지어"),
    ("모르다", "르", "몰라요", "모른다", "모르니", "몰라"),
]  # fmt: skip
STYLED_ADJECTIVES = [
    ("크다", "", "커요", "크다", "크니", "커"), ("길다", "", "길어요", "길다", "기니", "길어"),
    ("춥다", "ㅂ", "추워요", "춥다", "춥니", "추워"),
    ("빨갛다", "ㅎ", "빨개요", "빨갛다", "빨갛니", "빨개"),
    ("빠르다", "르", "빨라요", "빠르다", "빠르니", "빨라"),
    ("있다", "", "있어요", "있다", "있니", "있어"),
    ("좋다", "", "좋아요", "좋다", "좋니", "좋아"), ("없다", "", "없어요", "없다", "없니", "없어"),
]  # fmt: skip


@pytest.mark.parametrize("rows", [STYLED, STYLED_ADJECTIVES])
def test_the_present_takes_its_hand_written_forms_in_each_style(
    rows: list[tuple[str, ko.Irregular, str, str, str, str]],
) -> None:
    for word, kind, polite, plain, asked, casual in rows:
        describes = rows is STYLED_ADJECTIVES
        assert ko.present(word, kind, "polite", describes=describes) == polite
        assert ko.present(word, kind, "plain", describes=describes) == plain
        assert ko.present(word, kind, "casual", describes=describes) == casual
        assert ko.present_question(word, kind, "plain") == asked
        assert ko.present_question(word, kind, "polite") == polite


@pytest.mark.parametrize(
    ("word", "kind", "polite", "plain", "asked", "casual"),
    [
        ("가다", "", "갔어요", "갔다", "갔니", "갔어"),
        ("먹다", "", "먹었어요", "먹었다", "먹었니", "먹었어"),
        ("걷다", "ㄷ", "걸었어요", "걸었다", "걸었니", "걸었어"),
        ("춥다", "ㅂ", "추웠어요", "추웠다", "추웠니", "추웠어"),
    ],
)  # fmt: skip
def test_the_past_takes_its_hand_written_forms_in_each_style(
    word: str, kind: ko.Irregular, polite: str, plain: str, asked: str, casual: str
) -> None:
    assert ko.past(word, kind, "polite") == ko.past_question(word, kind, "polite") == polite
    assert ko.past(word, kind, "plain") == plain
    assert ko.past_question(word, kind, "plain") == asked
    assert ko.past(word, kind, "casual") == casual


@pytest.mark.parametrize(
    ("word", "kind", "polite", "plain", "casual", "together", "with_friends"),
    [
        ("읽다", "", "읽으세요", "읽어라", "읽어", "읽읍시다", "읽자"),
        ("가다", "", "가세요", "가라", "가", "갑시다", "가자"),
        ("열다", "", "여세요", "열어라", "열어", "엽시다", "열자"),
        ("듣다", "ㄷ", "들으세요", "들어라", "들어", "들읍시다", "듣자"),
        ("돕다", "ㅂ", "도우세요", "도와라", "도와", "도웁시다", "돕자"),
    ],
)  # fmt: skip
def test_requests_and_proposals_take_their_hand_written_forms(
    word: str, kind: ko.Irregular, polite: str, plain: str, casual: str, together: str,
    with_friends: str,
) -> None:  # fmt: skip
    assert ko.request(word, kind, "polite") == polite
    assert ko.request(word, kind, "plain") == plain
    assert ko.request(word, kind, "casual") == casual
    assert ko.proposal(word, kind) == together
    assert ko.proposal(word, kind, "plain") == ko.proposal(word, kind, "casual") == with_friends
    assert ko.respectful_question(word, kind, "polite") == polite
    assert ko.respectful_question(word, kind) == polite.removesuffix("세요") + "십니까"


@pytest.mark.parametrize(
    ("word", "seen"), [("좋다", "좋네요"), ("길다", "기네요"), ("춥다", "춥네요")]
)
def test_what_one_notices_ends_in_neyo(word: str, seen: str) -> None:
    assert ko.observation(word) == seen
    assert ko.observation(word, "casual") == seen.removesuffix("요")


STEMS = st.text(st.integers(0xAC00, 0xD7A3).map(chr), min_size=1, max_size=3)


@given(STEMS)
def test_the_polite_present_ends_in_a_closed_syllable_before_the_ending(base: str) -> None:
    form = ko.present(base + "다")
    assert form.endswith("니다")
    assert final_of(form.removesuffix("니다")) == "ㅂ"


@given(STEMS)
def test_question_and_statement_differ_in_the_last_syllable_only(base: str) -> None:
    word = base + "다"
    assert ko.present(word)[:-1] == ko.present_question(word)[:-1]
    assert ko.past(word)[:-1] == ko.past_question(word)[:-1]


@given(STEMS)
def test_no_adnominal_form_keeps_a_final_rieul_before_nieun(base: str) -> None:
    assert final_of(ko.done(base + "다")) == "ㄴ"
    assert final_of(ko.ongoing(base + "다").removesuffix("는")) != "ㄹ"


@pytest.mark.parametrize("word", ["먹", "", "다", "eat"])
def test_what_is_no_dictionary_form_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="does not end in 다"):
        ko.stem(word)
