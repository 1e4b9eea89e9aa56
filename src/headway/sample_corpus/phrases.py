"""List the phrases that are learned by heart: greetings, thanks, answers and usual questions.

One entry is `Korean=English`. Each phrase is in the training text with all marks of its list.
"""

# Said to someone, who may be named: 안녕하세요, 민수 씨. The marks: none, a stop, an exclamation mark.
POLITE_GREETINGS = """
안녕하세요=hello, 안녕하십니까=hello, 안녕히 가세요=goodbye, 안녕히 가십시오=goodbye,
안녕히 계세요=goodbye, 안녕히 계십시오=goodbye, 잘 가요=goodbye, 감사합니다=thank you,
감사해요=thank you, 고맙습니다=thank you, 고마워요=thank you,
정말 감사합니다=thank you very much, 정말 고맙습니다=thank you very much,
정말 고마워요=thank you very much, 대단히 감사합니다=thank you very much,
죄송합니다=I am sorry, 죄송해요=I am sorry, 미안합니다=I am sorry, 미안해요=I am sorry,
정말 죄송합니다=I am very sorry, 정말 미안해요=I am very sorry, 실례합니다=excuse me,
반갑습니다=nice to meet you, 반가워요=nice to meet you, 만나서 반갑습니다=nice to meet you,
만나서 반가워요=nice to meet you, 처음 뵙겠습니다=nice to meet you,
안녕히 주무세요=good night, 잘 자요=good night, 좋은 아침입니다=good morning,
좋은 아침이에요=good morning, 좋은 하루 되세요=have a nice day,
좋은 하루 보내세요=have a nice day, 축하합니다=congratulations, 축하해요=congratulations,
생일 축하합니다=happy birthday, 생일 축하해요=happy birthday,
새해 복 많이 받으세요=happy new year, 환영합니다=welcome, 어서 오세요=welcome,
오랜만입니다=long time no see, 오랜만이에요=long time no see, 내일 봐요=see you tomorrow,
내일 만나요=see you tomorrow, 또 봐요=see you again, 또 만나요=see you again,
나중에 봐요=see you later, 나중에 만나요=see you later, 도와주세요=please help me,
기다려 주세요=please wait, 조심하세요=be careful, 힘내세요=cheer up,
걱정하지 마세요=do not worry, 사랑합니다=I love you, 사랑해요=I love you,
보고 싶습니다=I miss you, 보고 싶어요=I miss you, 맛있게 드세요=enjoy your meal,
수고하셨습니다=thank you for your work, 괜찮아요=it is okay, 괜찮습니다=it is okay
"""

# The same to a friend: 안녕, 민수야.
CASUAL_GREETINGS = """
안녕=hi, 잘 가=goodbye, 고마워=thanks, 정말 고마워=thanks a lot, 미안해=sorry,
반가워=nice to meet you, 만나서 반가워=nice to meet you, 잘 자=good night,
좋은 아침=good morning, 축하해=congratulations, 생일 축하해=happy birthday,
오랜만이야=long time no see, 내일 봐=see you tomorrow, 또 봐=see you again,
나중에 봐=see you later, 도와줘=help me, 기다려=wait, 조심해=be careful, 힘내=cheer up,
걱정하지 마=do not worry, 사랑해=I love you, 보고 싶어=I miss you, 괜찮아=it is okay
"""

# Answers and other phrases, with no mark, a stop or an exclamation mark.
ANSWERS = """
네=yes, 예=yes, 응=yes, 아니요=no, 아니오=no, 아뇨=no, 아니=no, 맞아요=that is right,
맞습니다=that is right, 맞아=that is right, 알겠습니다=I understand, 알겠어요=I understand,
알겠어=I understand, 알았어요=I understand, 알았어=I understand, 몰라요=I do not know,
몰라=I do not know, 모르겠습니다=I do not know, 모르겠어요=I do not know,
모르겠어=I do not know, 물론입니다=of course, 물론이죠=of course, 물론이지=of course,
싫어요=I do not like it, 싫어=I do not like it, 천만에요=you are welcome,
여보세요=hello, 저기요=excuse me, 잠깐만요=just a moment, 잠시만요=just a moment,
잠깐만=just a moment, 잠시만 기다려 주세요=please wait a moment,
잠깐만 기다려 주세요=please wait a moment, 메리 크리스마스=merry Christmas,
파이팅=you can do it, 화이팅=you can do it, 다녀오겠습니다=I will be back,
다녀왔습니다=I am back, 잘 먹겠습니다=thank you for the meal,
잘 먹었습니다=thank you for the meal, 저도 반갑습니다=nice to meet you too,
저도 반가워요=nice to meet you too, 저도 사랑해요=I love you too, 나도 사랑해=I love you too,
나도=me too, 저도요=me too, 잘 지내요=I am fine, 잘 지내=I am fine,
잘 지냅니다=I am fine, 잘 지내고 있어요=I am fine, 다시 말해 주세요=please say it again,
다시 한번 말해 주세요=please say it again, 다시 한번 말씀해 주세요=please say it again,
천천히 말해 주세요=please speak slowly, 천천히 말씀해 주세요=please speak slowly,
도와주셔서 감사합니다=thank you for your help, 길을 잃었어요=I am lost,
길을 잃었습니다=I am lost, 이거 주세요=please give me this, 이것 주세요=please give me this,
저거 주세요=please give me that, 비가 올 것 같아요=it looks like rain,
비가 올 것 같습니다=it looks like rain, 눈이 올 것 같아요=it looks like snow, 그만하세요=please stop, 그만해=stop, 행운을 빌어요=good luck,
행운을 빕니다=good luck
"""

# Answers with a comma after the first word, or without: 네, 알겠습니다.
YES_AND_NO = """
네 알겠습니다=yes I understand, 네 알겠어요=yes I understand, 네 감사합니다=yes thank you,
네 고맙습니다=yes thank you, 네 맞아요=yes that is right, 네 맞습니다=yes that is right,
네 괜찮아요=yes it is okay, 네 괜찮습니다=yes it is okay, 네 좋아요=yes it is good,
아니요 괜찮습니다=no thank you, 아니요 괜찮아요=no thank you, 아니요 몰라요=no I do not know,
아니요 모르겠어요=no I do not know
"""

# Questions, with a question mark or without.
QUESTIONS = """
잘 지내세요=how are you, 어떻게 지내세요=how are you, 어떻게 지내요=how are you,
어떻게 지내십니까=how are you, 어떻게 지내=how are you, 잘 지냈어요=how have you been,
잘 지냈어=how have you been, 몇 살이에요=how old are you, 몇 살입니까=how old are you,
몇 살이야=how old are you, 나이가 어떻게 되세요=how old are you,
이름이 어떻게 되세요=what is your name, 성함이 어떻게 되세요=what is your name,
지금 몇 시예요=what time is it now, 지금 몇 시입니까=what time is it now,
지금 몇 시야=what time is it now, 몇 시예요=what time is it, 몇 시입니까=what time is it,
몇 시야=what time is it, 오늘은 무슨 요일이에요=what day is it today,
오늘은 무슨 요일입니까=what day is it today, 오늘이 무슨 요일이에요=what day is it today,
오늘은 며칠이에요=what is the date today, 오늘은 며칠입니까=what is the date today,
이것은 무엇입니까=what is this, 이것이 무엇입니까=what is this, 이게 뭐예요=what is this,
이거 뭐예요=what is this, 이것은 뭐예요=what is this, 이게 뭐야=what is this,
이거 뭐야=what is this, 저것은 무엇입니까=what is that, 저게 뭐예요=what is that,
저게 뭐야=what is that, 이것은 얼마입니까=how much is this, 이거 얼마예요=how much is this,
이게 얼마예요=how much is this, 이거 얼마야=how much is this, 얼마입니까=how much is it,
얼마예요=how much is it, 얼마야=how much is it, 어디에 가세요=where are you going,
어디에 가요=where are you going, 어디에 갑니까=where are you going, 어디 가세요=where are you going,
어디 가요=where are you going, 어디 가=where are you going, 뭐 해요=what are you doing,
뭐 하세요=what are you doing, 뭐 해=what are you doing, 무엇을 합니까=what are you doing,
지금 뭐 해요=what are you doing now, 지금 뭐 하세요=what are you doing now,
지금 뭐 해=what are you doing now, 내일 뭐 해요=what are you doing tomorrow,
내일 뭐 해=what are you doing tomorrow, 내일 뭐 하세요=what are you doing tomorrow,
오늘 뭐 해요=what are you doing today, 오늘 뭐 해=what are you doing today,
오늘 뭐 하세요=what are you doing today, 주말에 뭐 해요=what are you doing on the weekend,
주말에 뭐 해=what are you doing on the weekend, 뭐 먹었어요=what did you eat, 뭐 먹었어=what did you eat,
밥 먹었어요=did you eat, 밥 먹었어=did you eat, 밥 먹었니=did you eat,
식사하셨어요=did you eat, 어디에서 왔어요=where are you from, 어디에서 왔습니까=where are you from,
어디에서 오셨어요=where are you from, 어디서 왔어요=where are you from,
어디에 살아요=where do you live, 어디에 사세요=where do you live, 어디에 삽니까=where do you live,
어디 살아요=where do you live, 어디 살아=where do you live, 누구세요=who are you,
누구십니까=who are you, 누구입니까=who is it, 누구예요=who is it, 누구야=who is it, 왜요=why,
왜=why, 뭐라고요=what did you say, 뭐라고 했어요=what did you say,
무슨 뜻이에요=what does it mean, 무슨 뜻입니까=what does it mean,
오늘 날씨가 어때요=how is the weather today, 오늘 날씨가 어떻습니까=how is the weather today,
오늘 날씨 어때요=how is the weather today, 오늘 날씨 어때=how is the weather today,
날씨가 어때요=how is the weather, 날씨가 어떻습니까=how is the weather, 기분이 어때요=how do you feel,
기분이 어때=how do you feel, 도와드릴까요=can I help you, 무엇을 좋아합니까=what do you like,
무엇을 좋아해요=what do you like, 뭐 좋아해요=what do you like, 뭐 좋아해=what do you like
"""

# Questions that the words alone do not show: always with a question mark.
MARKED_QUESTIONS = """
잘 지내요=how are you, 잘 지내=how are you, 괜찮아요=are you okay, 괜찮아=are you okay,
괜찮습니까=are you okay, 정말=really, 정말요=really, 정말이에요=really, 진짜=really, 진짜요=really,
네=pardon
"""

# Predicates, in their dictionary form: said in all four styles.
STATES = """
배가 고프다=I am hungry, 배가 부르다/르=I am full, 목이 마르다/르=I am thirsty,
배가 아프다=my stomach hurts, 머리가 아프다=my head hurts, 목이 아프다=my throat hurts,
다리가 아프다=my leg hurts, 기분이 좋다=I feel good, 기분이 나쁘다=I feel bad,
심심하다=I am bored, 한국이 좋다=I like Korea, 한국어가 어렵다/ㅂ=Korean is difficult,
한국어가 재미있다=Korean is interesting
"""
ACTIONS = """
비가 오다=it is raining, 눈이 오다=it is snowing, 바람이 불다=it is windy, 졸리다=I am sleepy
"""
