"""List the verbs and adjectives of the built-in corpus, with the nouns that suit them.

A transitive verb is `Korean[/irregular] = English : groups of its objects : tags`. Tags: `h` a
habit, `p` an activity one can be in the middle of, `v` an act of will (wishes, duties, plans),
`q` occurs in "What did ... ?", `t` its bare object takes "the", `l` a matter of weeks or
years, `a` of any time (others: of hours or days), `r` one has the thing afterwards.
"""

TRANSITIVE = """
먹다 = eat : fruit snack bakery dessert meal dish rice staple meat : hpvqr
마시다 = drink : hotdrink colddrink alcohol : hpvqr
요리하다 = cook : meal dish staple meat : hpvqr
굽다/ㅂ = grill : meat : hpv
굽다/ㅂ = bake : bakery : hpvr
썰다 = chop : vegetable : pv
씻다 = wash : fruit vegetable crockery cutlery : pvq
심다 = plant : plant : lpvqr
사다 = buy : fruit snack bakery dessert meat ingredient hotdrink alcohol book garment footwear \
headwear instrument surface appliance belonging homeware crockery cutlery stationery plant car \
bike vegetable material : avqr
팔다 = sell : instrument appliance surface furniture car bike garment : avqr
읽다 = read : book message mail document : pvqr
쓰다 = write : message mail document : pvqr
번역하다 = translate : book document message mail : lpvqr
빌리다 = borrow : book bike car stationery : avqr
입다 = wear : garment : hpvr
신다 = wear : footwear : hpvr
쓰다 = wear : headwear : hpvr
벗다 = take off : garment footwear headwear : vq
빨다 = wash : garment : pv
연주하다 = play : instrument : hpvtq
하다 = play : ballgame game : hpv
하다 = speak : language : v
하다 = do : task : hpv
치다 = play : racket : hpv
배우다 = learn : language field racket : hlpvq
가르치다 = teach : language field : hlpvq
공부하다 = study : language field : hlpvq
열다 = open : door container : vq
닫다 = close : door container : vq
잠그다 = lock : door container : vq
켜다 = turn on : appliance : vq
끄다 = turn off : appliance : vq
고치다 = fix : appliance car bike surface door : apvqr
청소하다 = clean : room utility : hpvq
방문하다 = visit : home city country : lv
찾다 = find : belonging pet : aqr
잃어버리다 = lose : belonging : aqr
버리다 = throw away : homeware stationery furniture : vq
숨기다 = hide : belonging : vqr
옮기다 = move : surface furniture : pvq
나르다/르 = carry : surface furniture container : pvq
밀다 = push : surface furniture bike : pvq
칠하다 = paint : surface furniture door height building : apvqr
그리다 = draw : pet farm wild small plant : pvqr
기르다/르 = raise : pet farm : lpvqr
돌보다 = take care of : pet farm : pv
보다 = see : wild farm small : aqr
보다 = watch : show : pvr
보다 = watch : tv : hpv
잡다 = catch : small : vq
만지다 = touch : pet farm : vq
듣다/ㄷ = listen to : song audio : pvqr
부르다/르 = sing : song : pvq
만나다 = meet : person friend : av
돕다/ㅂ = help : person : apv
기다리다 = wait for : person friend public : pv
초대하다 = invite : person friend : av
칭찬하다 = praise : person : v
인터뷰하다 = interview : person : apv
고르다/르 = choose : garment footwear book plant : vqr
만들다 = make : snack furniture homeware crockery : apvqr
짓다/ㅅ = build : building : lpvqr
타다 = take : public : v
타다 = ride : bike : pv
운전하다 = drive : car : pv
자르다/르 = cut : material bakery : pv
사용하다 = use : appliance cutlery stationery : vq
주문하다 = order : snack meal dish rice staple dessert hotdrink colddrink : hvqr
닦다 = wipe : surface crockery : pvq
깨다 = break : crockery : aq
줍다/ㅂ = pick up : belonging stationery : vqr
포장하다 = wrap : belonging homeware : pvq
받다 = receive : message mail belonging plant : aqr
추천하다 = recommend : book show song audio : vqr
복사하다 = copy : document : pvq
인쇄하다 = print : document : pvq
검토하다 = review : document : pvqr
준비하다 = prepare : meal dish rice staple snack : pvqr
쓸다 = sweep : path : pvq
"""

# Verbs of giving an object to a person.
GIVING = """
주다 = give : book garment belonging stationery plant fruit : v
보내다 = send : message mail : v
보여 주다 = show : belonging document book : v
빌려주다 = lend : book bike stationery : v
가르쳐 주다 = teach : language field : v
읽어 주다 = read : book message document : v
"""

# Verbs of feeling and knowing, used in the plain present.
STATIVE = """
좋아하다 = like : meal dish game rice staple meat dessert hotdrink alcohol ballgame racket field language : p
싫어하다 = dislike : meal dish game rice staple meat dessert hotdrink alcohol ballgame racket field : p
이해하다 = understand : language field : p
즐기다 = enjoy : ballgame racket : p
사랑하다 = love : : p
"""

# Intransitive verbs, with the groups of places that suit them and tags as above.
INTRANSITIVE = """
자다 = sleep : hpv : room own outdoor
쉬다 = rest : hpv : room own outdoor shop
울다 = cry : p : room outdoor place
웃다 = laugh : p : room place shop
일하다 = work : hpv : shop place own
놀다 = play : hpv : outdoor room own
걷다/ㄷ = walk : hpv : outdoor
달리다 = run : hpv : outdoor
수영하다 = swim : hpv :
춤추다 = dance : hpv : outdoor room
노래하다 = sing : hpv : outdoor place room
기도하다 = pray : hpv : room place
운동하다 = exercise : hpv : outdoor own
공부하다 = study : hpv : room own shop place
여행하다 = travel : v :
기침하다 = cough : p : room shop
넘어지다 = fall down : : outdoor place
산책하다 = go for a walk : hpv : outdoor
낚시하다 = go fishing : hv :
등산하다 = go hiking : hv :
이야기하다 = talk : hpv : shop room
졸다 = doze off : : room shop
하품하다 = yawn : p : shop room
소리치다 = shout : p : outdoor place
쇼핑하다 = go shopping : hv :
"""

ADJECTIVES = """
크다 = big : wild surface furniture container plant fruit vegetable building car
작다 = small : pet small surface furniture container plant fruit vegetable building car
비싸다 = expensive : garment footwear headwear surface furniture appliance belonging instrument \
car bike ingredient alcohol
싸다 = cheap : garment footwear headwear surface furniture appliance stationery crockery bike \
ingredient alcohol
무겁다/ㅂ = heavy : surface furniture appliance book container
가볍다/ㅂ = light : homeware appliance book container footwear bike
길다 = long : document message show song path
짧다 = short : document message song show
예쁘다 = pretty : garment plant crockery footwear
아름답다/ㅂ = beautiful : plant song building
깨끗하다 = clean : crockery garment path cutlery
더럽다/ㅂ = dirty : crockery garment path cutlery
좋다 = good : book show appliance song audio
나쁘다 = bad : show document
빨갛다/ㅎ = red : garment car plant bike
파랗다/ㅎ = blue : garment car bike container
노랗다/ㅎ = yellow : garment car plant crockery
하얗다/ㅎ = white : garment car plant crockery pet
까맣다/ㅎ = black : garment car pet container
두껍다/ㅂ = thick : book
얇다 = thin : book
넓다 = wide : path surface
좁다 = narrow : path surface
높다 = high : height surface
낮다 = low : height surface
빠르다/르 = fast : car public bike farm
느리다 = slow : public car bike farm
재미있다 = interesting : book show document
지루하다 = boring : book show document
어렵다/ㅂ = difficult : field language document
쉽다/ㅂ = easy : field language
중요하다 = important : document message field
유용하다 = useful : appliance stationery language
편하다 = comfortable : surface footwear garment
튼튼하다 = sturdy : furniture surface building bike
부드럽다/ㅂ = soft : garment bakery
어둡다/ㅂ = dark : path
새롭다/ㅂ = new : book show song appliance
맛있다 = delicious : fruit snack bakery dessert meal dish rice staple meat
달다 = sweet : fruit dessert
짜다 = salty : meal
맵다/ㅂ = spicy : meal dish
뜨겁다/ㅂ = hot : hotdrink
차갑다/ㅂ = cold : colddrink
신선하다 = fresh : fruit vegetable meat
귀엽다/ㅂ = cute : pet farm
무섭다/ㅂ = scary : wild show
사납다/ㅂ = fierce : wild
영리하다 = clever : pet wild
시끄럽다/ㅂ = noisy : appliance public
위험하다 = dangerous : wild bike height path
안전하다 = safe : public bike path
친절하다 = kind : person
똑똑하다 = smart : person
바쁘다 = busy : person
행복하다 = happy : person
슬프다 = sad : person show song
피곤하다 = tired : person
배고프다 = hungry : person
아프다 = sick : person
건강하다 = healthy : person
젊다 = young : person
유명하다 = famous : person building
부지런하다 = diligent : person
게으르다/르 = lazy : person
용감하다 = brave : person
정직하다 = honest : person
조용하다 = quiet : person
강하다 = strong : person
외롭다/ㅂ = lonely : person
겸손하다 = humble : person
예의 바르다/르 = polite : person
침착하다 = calm : person
현명하다 = wise : person
"""

# Adjectives of the weather.
WEATHER = """
좋다 = good
나쁘다 = bad
춥다/ㅂ = cold
덥다/ㅂ = hot
따뜻하다 = warm
시원하다 = cool
흐리다 = cloudy
맑다 = sunny
습하다 = humid
"""
