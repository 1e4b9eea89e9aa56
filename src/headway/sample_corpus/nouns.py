"""List the nouns of the built-in corpus, by semantic group.

One entry is `Korean=English`. Marks before the English: `~` a mass noun (never a/an), `+` a noun
that is always plural, `in:`, `at:` or `on:` the preposition of a place. A mark `!` after the
English says that the place takes no article. Bare countable nouns mean a/an.
"""

NAMES = """
민수=Minsu, 지민=Jimin, 유진=Yujin, 민호=Minho, 수지=Suji, 서연=Seoyeon, 현우=Hyeonu,
한별=Hanbyeol, 지훈=Jihun, 서준=Seojun, 민준=Minjun, 지우=Jiu, 하은=Haeun, 수빈=Subin,
은지=Eunji, 영희=Yeonghui, 철수=Cheolsu, 영수=Yeongsu, 미나=Mina, 준호=Junho, 성민=Seongmin,
지은=Jieun, 예진=Yejin, 동현=Donghyeon, 지현=Jihyeon, 수민=Sumin, 도윤=Doyun, 지영=Jiyeong,
민지=Minji, 길동=Gildong
"""

SURNAMES = """
김=Kim, 이=Lee, 박=Park, 최=Choi, 정=Jeong, 강=Kang, 조=Cho, 윤=Yun, 장=Jang, 임=Lim, 홍=Hong
"""

NOUNS: dict[str, str] = {
    "job": """
    의사=doctor, 간호사=nurse, 요리사=cook, 가수=singer, 화가=painter, 기자=reporter,
    선생님=teacher, 교사=schoolteacher, 경찰관=police officer, 소방관=firefighter, 농부=farmer, 작가=writer,
    배우=actor, 학생=student, 대학생=college student, 변호사=lawyer, 군인=soldier,
    운동선수=athlete, 과학자=scientist, 약사=pharmacist, 어부=fisherman, 번역가=translator,
    무용수=dancer, 사진작가=photographer, 목수=carpenter, 이발사=barber, 판사=judge,
    조종사=pilot, 승무원=flight attendant, 은행원=bank clerk, 사서=librarian,
    건축가=architect, 치과의사=dentist, 수의사=veterinarian, 음악가=musician,
    정원사=gardener, 제빵사=baker, 상인=merchant, 기술자=engineer, 비서=secretary, 회사원=office worker,
    개발자=developer, 프로그래머=programmer, 교수=professor, 디자이너=designer,
    연구원=researcher, 고등학생=high school student, 중학생=middle school student,
    대학원생=graduate student
    """,
    "adult": "남자=man, 여자=woman, 관광객=tourist, 손님=guest",
    "child": "아이=child, 소년=boy, 소녀=girl",
    "kin": """
    형=older brother, 누나=older sister, 남동생=younger brother, 여동생=younger sister,
    아들=son, 딸=daughter, 사촌=cousin, 친구=friend, 동료=colleague, 이웃=neighbor,
    어머니=mother, 아버지=father, 엄마=mom, 아빠=dad, 할머니=grandmother, 할아버지=grandfather,
    언니=older sister, 오빠=older brother, 동생=younger sibling, 아내=wife, 남편=husband
    """,
    # A friend whom one meets, called "a friend"; with 제 it is "my friend" of the group above.
    "friend": "친구=friend",
    "pet": """
    고양이=cat, 개=dog, 강아지=puppy, 토끼=rabbit, 햄스터=hamster, 앵무새=parrot, 거북이=turtle
    """,
    "farm": "말=horse, 소=cow, 돼지=pig, 염소=goat, 오리=duck, 당나귀=donkey",
    "wild": """
    호랑이=tiger, 사자=lion, 곰=bear, 원숭이=monkey, 코끼리=elephant, 기린=giraffe,
    여우=fox, 늑대=wolf, 뱀=snake, 펭귄=penguin, 독수리=eagle, 낙타=camel
    """,
    "small": "나비=butterfly, 개구리=frog, 쥐=mouse, 잠자리=dragonfly, 메뚜기=grasshopper",
    "fruit": """
    사과=apple, 오렌지=orange, 바나나=banana, 복숭아=peach, 레몬=lemon, 귤=tangerine,
    수박=watermelon, 딸기=strawberry, 망고=mango, 감=persimmon, 멜론=melon
    """,
    "vegetable": """
    감자=potato, 고구마=sweet potato, 토마토=tomato, 당근=carrot, 양파=onion,
    오이=cucumber, 버섯=mushroom, 호박=pumpkin, 양배추=cabbage
    """,
    "snack": "샌드위치=sandwich, 햄버거=hamburger, 핫도그=hot dog, 만두=dumpling",
    "bakery": "빵=~bread, 케이크=~cake, 쿠키=cookie, 파이=pie, 도넛=doughnut",
    "dessert": "초콜릿=~chocolate, 아이스크림=~ice cream, 푸딩=~pudding",
    "meal": """
    수프=~soup, 김치찌개=~kimchi stew, 불고기=~bulgogi,
    비빔밥=~bibimbap, 카레=~curry
    """,
    "dish": """
    피자=~pizza, 김밥=~gimbap, 떡볶이=~tteokbokki, 김치=~kimchi, 라면=~ramen,
    음식=~food, 한국 음식=~Korean food
    """,
    "staple": "국수=+noodles, 스파게티=~spaghetti",
    "rice": "밥=~rice",
    "meat": "고기=~meat, 생선=~fish, 닭고기=~chicken, 돼지고기=~pork, 쇠고기=~beef",
    "ingredient": """
    설탕=~sugar, 소금=~salt, 버터=~butter, 치즈=~cheese, 꿀=~honey, 밀가루=~flour,
    간장=~soy sauce, 식초=~vinegar, 후추=~pepper
    """,
    "hotdrink": "커피=~coffee, 녹차=~green tea, 홍차=~black tea, 코코아=~cocoa, 우유=~milk, 차=~tea",
    "colddrink": "물=~water, 주스=~juice, 콜라=~cola, 레모네이드=~lemonade",
    "alcohol": "맥주=~beer, 포도주=~wine, 소주=~soju",
    "book": """
    책=book, 소설=novel, 잡지=magazine, 신문=newspaper, 만화책=comic book, 사전=dictionary,
    교과서=textbook, 안내서=guidebook, 동화책=storybook
    """,
    "message": "편지=letter, 엽서=postcard, 쪽지=note, 초대장=invitation",
    "mail": "이메일=email",
    "document": """
    보고서=report, 시=poem, 기사=article, 논문=thesis, 계약서=contract, 설명서=manual
    """,
    "show": """
    영화=movie, 드라마=drama, 공연=performance, 만화=cartoon, 다큐멘터리=documentary
    """,
    "song": "노래=song, 자장가=lullaby, 민요=folk song, 캐럴=carol",
    "audio": "음악=~music, 강의=lecture, 이야기=story",
    "garment": """
    셔츠=shirt, 코트=coat, 재킷=jacket, 바지=+pants, 카디건=cardigan,
    스웨터=sweater, 조끼=vest, 한복=hanbok, 양복=suit, 교복=school uniform,
    청바지=+jeans, 비옷=raincoat, 잠옷=+pajamas
    """,
    "footwear": """
    구두=+dress shoes, 운동화=+sneakers, 양말=+socks, 장화=+rain boots, 슬리퍼=+slippers,
    등산화=+hiking boots
    """,
    "headwear": "모자=hat, 안경=+glasses, 마스크=mask, 헬멧=helmet, 선글라스=+sunglasses",
    "instrument": """
    피아노=piano, 기타=guitar, 바이올린=violin, 첼로=cello, 플루트=flute,
    트럼펫=trumpet, 하프=harp, 클라리넷=clarinet
    """,
    "ballgame": "축구=~soccer, 야구=~baseball, 농구=~basketball, 배구=~volleyball",
    "game": "게임=+video games",
    # Nouns that one has or lacks.
    "means": """
    시간=~time, 돈=~money, 질문=question, 수업=class, 약속=appointment, 계획=plan, 문제=problem,
    여자 친구=girlfriend, 남자 친구=boyfriend
    """,
    "task": "숙제=~homework, 빨래=~laundry",
    "tv": "텔레비전=~television",
    "racket": "테니스=~tennis, 탁구=~table tennis, 골프=~golf, 배드민턴=~badminton",
    "language": """
    영어=~English, 한국어=~Korean, 프랑스어=~French, 독일어=~German, 중국어=~Chinese,
    일본어=~Japanese, 스페인어=~Spanish, 러시아어=~Russian
    """,
    "field": """
    수학=~math, 역사=~history, 과학=~science, 미술=~art, 물리학=~physics,
    화학=~chemistry, 생물학=~biology, 경제학=~economics, 철학=~philosophy,
    문학=~literature, 의학=~medicine
    """,
    "surface": "책상=desk, 침대=bed, 소파=sofa, 탁자=table, 의자=chair",
    "furniture": "책장=bookshelf, 옷장=wardrobe, 벤치=bench",
    "door": "문=door, 창문=window, 대문=gate",
    "container": "상자=box, 서랍=drawer, 가방=bag, 금고=safe, 캐비닛=cabinet",
    "appliance": """
    램프=lamp, 텔레비전=television, 라디오=radio, 컴퓨터=computer, 에어컨=air conditioner,
    선풍기=fan, 노트북=laptop, 오븐=oven, 난로=heater
    """,
    "belonging": """
    우산=umbrella, 시계=clock, 열쇠=key, 휴대폰=cell phone, 카메라=camera, 여권=passport,
    표=ticket, 반지=ring, 목걸이=necklace, 공=ball, 인형=doll, 장난감=toy, 선물=present,
    사진=photo, 그림=picture, 지도=map, 동전=coin, 지갑=wallet, 팔찌=bracelet
    """,
    "homeware": """
    수건=towel, 칫솔=toothbrush, 빗=comb, 양초=candle, 담요=blanket, 베개=pillow,
    거울=mirror, 쟁반=tray, 냄비=pot, 주전자=kettle
    """,
    "crockery": "컵=cup, 접시=plate, 꽃병=vase, 그릇=bowl, 유리잔=glass",
    "cutlery": "숟가락=spoon, 포크=fork, 칼=knife, 젓가락=+chopsticks",
    "stationery": """
    연필=pencil, 볼펜=pen, 공책=notebook, 지우개=eraser, 자=ruler, 가위=+scissors,
    붓=paintbrush, 크레용=crayon
    """,
    "material": "종이=~paper, 끈=string, 밧줄=rope, 리본=ribbon, 천=~cloth",
    "plant": "꽃=flower, 장미=rose, 나무=tree, 튤립=tulip, 해바라기=sunflower, 백합=lily",
    "public": "버스=bus, 기차=train, 택시=taxi, 비행기=plane, 배=ship, 지하철=subway",
    "car": "자동차=car, 트럭=truck, 승합차=van",
    "bike": "자전거=bicycle, 오토바이=motorcycle, 스쿠터=scooter",
    "building": "집=house, 탑=tower, 창고=warehouse, 오두막=cabin, 별장=villa, 헛간=barn",
    "path": "길=road, 골목=alley, 복도=hallway, 계단=+stairs",
    "height": "언덕=hill, 절벽=cliff, 울타리=fence, 벽=wall, 다리=bridge",
    "room": """
    부엌=in:kitchen, 거실=in:living room, 침실=in:bedroom, 방=in:room
    """,
    "utility": "욕실=in:bathroom, 차고=in:garage, 지하실=in:basement, 화장실=in:restroom",
    "shop": """
    식당=at:restaurant, 카페=at:cafe, 빵집=at:bakery, 서점=at:bookstore, 약국=at:pharmacy,
    은행=at:bank, 우체국=at:post office, 체육관=at:gym, 도서관=in:library,
    사무실=in:office, 미술관=at:art gallery, 교실=in:classroom
    """,
    "place": """
    병원=at:hospital, 시장=at:market, 호텔=at:hotel, 공항=at:airport, 역=at:station,
    극장=at:theater, 박물관=at:museum, 동물원=at:zoo, 학교=at:school!, 공장=at:factory,
    경찰서=at:police station, 교회=at:church!, 절=at:temple, 대학교=at:university,
    편의점=at:convenience store, 마트=at:supermarket, 백화점=at:department store,
    영화관=at:movie theater, 수영장=at:swimming pool
    """,
    "outdoor": """
    공원=in:park, 해변=on:beach, 숲=in:forest, 정원=in:garden, 광장=in:square,
    농장=on:farm, 놀이터=at:playground, 호수=at:lake, 섬=on:island,
    바다=at:sea, 산=on:mountain
    """,
    "own": "집=at:home!",
    "work": "회사=at:work!",
    "home": """
    서울=in:Seoul!, 부산=in:Busan!, 대구=in:Daegu!, 인천=in:Incheon!, 대전=in:Daejeon!,
    광주=in:Gwangju!
    """,
    "city": """
    런던=in:London!,
    파리=in:Paris!, 도쿄=in:Tokyo!, 뉴욕=in:New York!, 로마=in:Rome!, 베를린=in:Berlin!,
    시드니=in:Sydney!, 마드리드=in:Madrid!
    """,
    "country": """
    한국=in:Korea!, 미국=in:the United States!, 영국=in:England!, 프랑스=in:France!,
    독일=in:Germany!, 중국=in:China!, 일본=in:Japan!, 캐나다=in:Canada!,
    호주=in:Australia!, 인도=in:India!, 이탈리아=in:Italy!, 스페인=in:Spain!,
    브라질=in:Brazil!, 베트남=in:Vietnam!
    """,
}
