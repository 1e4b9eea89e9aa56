"""List the adverbs, times, numbers and counters of the built-in corpus.

One entry is `Korean=English`; a time is written with the particle it takes (`지난주에`).
"""

TERMS: dict[str, str] = {
    # Time of a past event.
    "past": """
    어제=yesterday, 그저께=the day before yesterday, 지난주에=last week, 지난달에=last month,
    작년에=last year, 오늘=today, 어젯밤에=last night, 오늘 아침에=this morning
    """,
    "future": """
    내일=tomorrow, 모레=the day after tomorrow, 다음 주에=next week, 다음 달에=next month,
    내년에=next year, 오늘=today, 오늘 밤에=tonight, 오늘 저녁에=this evening
    """,
    "habit": """
    매일=every day, 매주=every week, 매일 아침=every morning, 매일 밤=every night,
    매일 저녁=every evening, 주말마다=every weekend
    """,
    "weekday": """
    월요일에=on Monday, 화요일에=on Tuesday, 수요일에=on Wednesday, 목요일에=on Thursday,
    금요일에=on Friday, 토요일에=on Saturday, 일요일에=on Sunday, 주말에=on the weekend
    """,
    "month": """
    일월에=in January, 이월에=in February, 삼월에=in March, 사월에=in April, 오월에=in May,
    유월에=in June, 칠월에=in July, 팔월에=in August, 구월에=in September,
    시월에=in October, 십일월에=in November, 십이월에=in December
    """,
    "season": "봄에=in spring, 여름에=in summer, 가을에=in autumn, 겨울에=in winter",
    "daypart": "아침에=in the morning, 오후에=in the afternoon, 저녁에=in the evening",
    "frequency": "자주=often, 항상=always, 가끔=sometimes, 보통=usually",
    "degree": "아주=very, 정말=really, 너무=too, 꽤=quite",
    # Native numbers in the form they take before a counter.
    "count": """
    한=one, 두=two, 세=three, 네=four, 다섯=five, 여섯=six, 일곱=seven, 여덟=eight,
    아홉=nine, 열=ten, 열한=eleven, 열두=twelve, 스무=twenty
    """,
    # Ages in years.
    "age": """
    열세=thirteen, 열네=fourteen, 열다섯=fifteen, 열여섯=sixteen, 열일곱=seventeen,
    열여덟=eighteen, 열아홉=nineteen, 스무=twenty, 스물한=twenty-one, 스물두=twenty-two,
    스물세=twenty-three, 스물다섯=twenty-five, 스물여덟=twenty-eight, 서른=thirty,
    서른다섯=thirty-five, 마흔=forty, 쉰=fifty, 예순=sixty, 일흔=seventy
    """,
    "day": """
    월요일=Monday, 화요일=Tuesday, 수요일=Wednesday, 목요일=Thursday, 금요일=Friday,
    토요일=Saturday, 일요일=Sunday
    """,
    # Nationalities, before 사람.
    "nationality": """
    한국=Korean, 미국=American, 영국=British, 프랑스=French, 독일=German, 중국=Chinese,
    일본=Japanese, 캐나다=Canadian, 호주=Australian, 인도=Indian, 이탈리아=Italian,
    스페인=Spanish, 브라질=Brazilian, 베트남=Vietnamese, 러시아=Russian
    """,
    # Facts about a person that one asks for.
    "fact": """
    이름=name, 취미=hobby, 직업=job, 전공=major, 전화번호=phone number, 주소=address, 꿈=dream
    """,
    # Chinese numbers, for floors, minutes and money.
    "floor": """
    일=first, 삼=third, 사=fourth, 오=fifth, 육=sixth, 칠=seventh, 팔=eighth, 구=ninth
    """,
    "minutes": "십=ten, 이십=twenty, 삼십=thirty, 사십=forty, 오십=fifty",
    "money": """
    오백=five hundred, 천=one thousand, 이천=two thousand, 삼천=three thousand,
    오천=five thousand, 만=ten thousand, 이만=twenty thousand
    """,
    "counter": """
    개=piece, 명=person, 마리=animal, 권=volume, 잔=cup, 병=bottle, 그릇=bowl, 벌=suit,
    켤레=pair, 대=machine, 송이=blossom, 장=sheet, 자루=stick
    """,
    "relation": "위=on, 아래=under, 옆=next to, 뒤=behind, 앞=in front of, 안=in",
}

# Adverb of manner : the intransitive verbs that it suits.
MANNER = """
천천히 = slowly : 걷다 달리다 수영하다
빨리 = fast : 걷다 달리다 수영하다
조용히 = quietly : 자다 쉬다 울다 웃다 일하다 공부하다 기도하다 이야기하다
크게 = loudly : 웃다 울다 노래하다 이야기하다 소리치다
열심히 = hard : 일하다 운동하다 기도하다 공부하다
혼자 = alone : 공부하다 자다 쉬다 울다 일하다 놀다 춤추다 노래하다 기도하다 여행하다 산책하다 운동하다
오래 = for a long time : 자다 쉬다 울다 일하다 걷다 수영하다 기도하다 이야기하다
즐겁게 = happily : 놀다 춤추다 노래하다 웃다
"""
