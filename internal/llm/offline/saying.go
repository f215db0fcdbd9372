package offline

import (
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/reverie"
)

// saying is one plain way to say something lasting of a person. Its pattern is
// matched against what follows the subject.
type saying struct {
	pattern *lazyregexp.Regexp
	owned   bool // it is said of what is the subject's: my dog is called Miso
	lasts   bool // it stays true though it was said of one day: I moved yesterday
	read    func(found []string, dense bool) (claim, bool)
}

// claim is what a clause says.
type claim struct {
	aspect  reverie.Aspect
	key     string // of a feature; a relation's kind
	value   string // of a feature
	text    string // an impression, or what stands for a feature that is one of several
	several bool   // people have more than one of it
	target  string // of a relation, "" for whoever speaks
	swapped bool   // the relation is the target's, to the subject
}

const (
	ends      = `\s*(?:[.!…,，。！；;、(（~～]|$|\s+(?:and|but|now|too|again|still|with|since|for|because|so|these days|right now|last|this|next|yesterday|today|as|near|btw|though|tho|here)\b)`
	endsJob   = `(?:` + ends + `|\s+(?:at|in|by|on|from|who|that)\b)`
	endsDense = `(?:[了啦啊呢哦吧呀哈嘛]*(?:[，,。.！!；;、~～…\s(（]|$))`
	often     = `(?:(?:now|still|currently|also|just|recently|finally|originally|really|always|usually|mostly|actually|absolutely|very|only|already|both|have|has) )*`
	oftenHan  = `(?:现在|目前|一直|还是|仍然|就|也|还|已经|最近|刚刚|刚|终于|其实|从小|从来|平时|一般|真的|很|最|特别|超级|超|非常|比较|挺|蛮|都|上周|上个月|去年|今年|一个人)*`

	animals  = `dog|puppy|cat|kitten|parrot|hamster|rabbit|bunny|turtle|tortoise|horse|snake|gecko|budgie|guinea pig|ferret|goldfish`
	animals2 = `小?猫咪?|小?狗狗?|鹦鹉|仓鼠|兔子|乌龟|龟|蛇|守宫|金鱼|鸟|柯基|柴犬|金毛|橘猫|布偶`
	kin      = `brother|sister|twin|mother|father|mum|mom|dad|wife|husband|partner|girlfriend|boyfriend|fiancée?|son|daughter|cousin|uncle|aunt|nephew|niece|` +
		`grandmother|grandfather|roommate|flatmate|housemate|neighbou?r|boss|manager|colleague|coworker|teacher|student|mentor|best friend|friend|landlord`
	kinDense = `(?:亲|大|小|表|堂)?(?:哥哥|弟弟|姐姐|妹妹|哥|姐|弟|妹)|爸爸|妈妈|父亲|母亲|老公|老婆|丈夫|妻子|男朋友|女朋友|男友|女友|儿子|女儿|` +
		`室友|同事|同学|邻居|老板|领导|上司|老师|徒弟|师父|师傅|好朋友|朋友|闺蜜|搭档|房东`
	name = `([\p{L}][\p{L}\p{N}_'’-]*)`
)

// sayings are tried in order; the first that fits says what a clause says.
var sayings = slices.Concat(englishSayings, denseSayings)

var englishSayings = []saying{
	{pattern: say(often + `(?:lives?|(?:am|is) ` + often + `(?:living|based)) in (.+?)` + ends), read: place("city", "城市"), lasts: true},
	{pattern: say(often + `(?:moved|relocated) (?:back )?(?:from .+? )?to (.+?)` + ends), read: place("city", "城市"), lasts: true},
	{pattern: say(often + `(?:(?:am|is) ` + often + `from|comes? from|grew up in) (.+?)` + ends), read: place("hometown", "家乡"), lasts: true},
	{pattern: say(often + `(?:am|is) ` + often + `an? ((?:\p{L}[\p{L}-]* ){0,3}?` + jobs + `)` + endsJob), read: attributeOf("job", "职业"), lasts: true},
	{pattern: say(often + `(?:works?|(?:am|is) working) as an? ((?:\p{L}[\p{L}-]* ?){1,4}?)` + endsJob), read: attributeOf("job", "职业"), lasts: true},
	{pattern: say(often + `(?:works?|(?:am|is) ` + often + `working) (?:at|for) ((?:the )?\p{Lu}.*?)` + ends), read: attributeOf("employer", "雇主")},
	{pattern: say(often + `(?:am|is) ` + often + `(?:badly |deadly |severely )?allergic to (.+?)` + ends), read: several("allergy", "is allergic to %s")},
	{pattern: say(often + `(?:am|is) ` + often + `(?:a |an )?(vegan|vegetarian|pescatarian|teetotaller|lactose intolerant|c(?:o)?eliac)` + ends), read: attributeOf("diet", "饮食")},
	{pattern: say(often + `(?:have|has|got|own|owns|adopted)? ?(?:got )?an? (?:\p{L}+ )?(` + animals + `) (?:called|named) ` + name + ends), read: pet, lasts: true},
	{pattern: say(often + `(?:have|has|own|owns|adopted) (?:got )?an? (` + animals + `)` + ends), read: several("pet", "has a %s"), lasts: true},
	{pattern: say(`(` + animals + `)(?:['’]s name(?: is|['’]s)|(?: is|['’]s) (?:called|named)) ` + name + ends), owned: true, read: pet, lasts: true},
	{pattern: say(`birthday is (?:on )?(.*?(?:\d|january|february|march|april|may|june|july|august|september|october|november|december).*?)` + ends), owned: true,
		read: attributeOf("birthday", "生日"), lasts: true},
	{pattern: say(`is my ((?:older |younger |elder |little |big |twin )?(?:` + kin + `))` + ends), read: kinOf, lasts: true},
	{pattern: say(`is ` + name + `['’]s ((?:older |younger |elder |little |big |twin )?(?:` + kin + `))` + ends), read: kinOfOther, lasts: true},
	{pattern: say(`((?:older |younger |elder |little |big |twin )?(?:` + kin + `))(?: is|['’]s)? (?:called |named )` + name + ends), owned: true, read: kinNamed, lasts: true},
	{pattern: say(often + `(do not|don['’]?t|does not|doesn['’]?t|never|can['’]?t|cannot) (eats?|drinks?|likes?|smokes?|drives?|speaks?|plays?|stand|swims?|reads?|uses?)( [^.!,，]+?)?` + ends), read: denial},
	{pattern: say(often + `(likes?|loves?|enjoys?|prefers?|hates?|dislikes?|plays?|speaks?|runs?|collects?|teaches|teach|stud(?:y|ies)|knits?|paints?|cooks?|breeds?|grows?|rides?|draws?|dances?|sings?|swims?|climbs?|drinks?|eats?|coaches|coach|brews?|bakes?) ([^.!?,，;]+?)` + `\s*(?:[.!…,，;(]|$)`), read: doing},
}

var denseSayings = []saying{
	{pattern: say(oftenHan + `住(?:在|到)?(\p{Han}[^，,。.！!；;、]*?)` + endsDense), read: place("city", "城市"), lasts: true},
	{pattern: say(oftenHan + `搬家?(?:到|去|来|回)了?(\p{Han}[^，,。.！!；;、]*?)` + endsDense), read: place("city", "城市"), lasts: true},
	{pattern: say(`(?:的)?(?:老家|家乡)(?:是|在)(\p{Han}+?)(?:的)?` + endsDense), read: place("hometown", "家乡"), lasts: true},
	{pattern: say(oftenHan + `是(\p{Han}{2,4})人` + endsDense), read: place("hometown", "家乡"), lasts: true},
	{pattern: say(oftenHan + `(?:是|做|当)(?:一名|一个|一位|个|名|位)?((?:\p{Han}{0,6})` + jobsDense + `)的?` + endsDense), read: attributeOf("job", "职业"), lasts: true},
	{pattern: say(`的?(?:工作|职业)是(\p{Han}{2,8}?)` + endsDense), read: attributeOf("job", "职业"), lasts: true},
	{pattern: say(oftenHan + `在([^，,。.！!；;、]{2,15}?)(?:上班|工作|当` + jobsDense + `)` + endsDense), read: attributeOf("workplace", "工作地点")},
	{pattern: say(oftenHan + `对([^，,。.！!；;、]{1,12}?)(?:有点|严重|也)?过敏` + endsDense), read: several("过敏", "对%s过敏")},
	{pattern: say(`(?:们家|家里|家)?` + oftenHan + `(?:养|有|领养|收养)了?(?:一|两)?(?:只|条|个|匹)?(?:\p{Han}{0,3}?)(` + animals2 + `)[，,]?(?:它)?(?:的?名字)?(?:叫|名叫|是)([^，,。.！!；;、\s]{1,8}?)` + endsDense), read: pet, lasts: true},
	{pattern: say(`(?:们家|家里|家)?` + oftenHan + `(?:养|领养|收养)了?(?:一|两)?(?:只|条|个|匹)?(` + animals2 + `)` + endsDense), read: several("宠物", "养了%s"), lasts: true},
	{pattern: say(`(?:们?家)?的?(` + animals2 + `)的?(?:名字)?(?:叫|名叫)([^，,。.！!；;、\s]{1,8}?)` + endsDense), read: pet, lasts: true},
	{pattern: say(`的?生日(?:是|在)(.*?[\d一二三四五六七八九十].*?)` + endsDense), read: attributeOf("birthday", "生日"), lasts: true},
	{pattern: say(`是我的?(` + kinDense + `)` + endsDense), read: kinOf, lasts: true},
	{pattern: say(`的?(` + kinDense + `)(?:名字)?叫([^，,。.！!；;、\s]{2,8}?)` + endsDense), read: kinNamed, lasts: true},
	{pattern: say(oftenHan + `((?:不|最|只|不能)?(?:喜欢|爱吃|爱喝|爱看|爱玩|爱|吃|喝|抽|用|会说|会拉|会弹|会唱|会吹|会画|会做|会写|会打|会开|讨厌|受不了))([^，,。.！!；;、]{1,14}?)` + endsDense), read: doingDense},
}

// say compiles a pattern that stands at the beginning, however it is cased.
func say(expr string) *lazyregexp.Regexp {
	return lazyregexp.New(`^(?:` + strings.ReplaceAll(expr, `\p{Lu}`, `(?-i:\p{Lu})`) + `)`)
}

// jobs end the name of an occupation.
const (
	jobs = `(?:nurse|doctor|teacher|engineer|developer|programmer|designer|translator|interpreter|lawyer|plumber|carpenter|electrician|chef|cook|baker|barista|` +
		`driver|pilot|journalist|editor|writer|author|photographer|architect|accountant|scientist|researcher|student|professor|lecturer|librarian|pharmacist|dentist|` +
		`surgeon|vet|veterinarian|farmer|gardener|musician|cellist|violinist|pianist|actor|actress|painter|mechanic|welder|firefighter|paramedic|analyst|consultant|` +
		`physicist|chemist|biologist|mathematician|economist|psychologist|therapist|physiotherapist|midwife|postman|tailor|hairdresser|waiter|waitress|bartender|` +
		`soldier|sailor|banker|sysadmin|admin|tester|statistician|geologist|historian|philosopher|judge|notary|optician|bookseller|potter|blacksmith|tutor|nanny|janitor)`
	jobsDense = `(?:护士|医生|大夫|老师|教师|教授|律师|工程师|程序员|设计师|翻译|记者|编辑|作家|会计|厨师|司机|警察|学生|研究生|博士生|研究员|摄影师|建筑师|药剂师|` +
		`牙医|兽医|农民|木匠|电工|水管工|焊工|理发师|裁缝|演员|歌手|画家|音乐家|飞行员|消防员|军人|公务员|销售|产品经理|项目经理|经理|客服|分析师|咨询师|导游|` +
		`面包师|咖啡师|图书管理员|测试|运维|法官|公证员|保安|快递员|外卖员|店主|老板)`
)

var (
	// noPlace is what follows "live in" or "move to" and is no place; noThing what
	// is liked or done for the moment, or points at something else.
	noPlace = lazyregexp.New(`(?i)^(?:an?|the|my|your|his|her|our|their|this|that|these|those|another|fear|peace|hope|harmony|constant|bed|it|there|here|different|` +
		`linux|windows|mac(?:os)?|rust|go|golang|python|java|discord|slack|telegram|matrix|signal|github|gitlab|vim|emacs|team|plan)\b|` +
		`[我你您他她它们]|^(?:一起|家里?|外面|隔壁|楼上|楼下|这|那|哪|学校|宿舍|酒店|医院|公司|新|好|坏|新人|好人|路人|男人|女人|老人|大人|本地|自己|一个|没什么|什么)`)
	noThing = lazyregexp.New(`(?i)^(?:it|this|that|these|those|you|him|her|them|me|us|how|what|when|where|which|your|his|their|the (?:idea|way|sound|look|new|first|last|second|one)|` +
		`to (?:think|see|hear|know|go|be)|late|out|away|to|from|over|up|down|home|back|into|off|around|along|so|too|again|here|there|well|fine)\b|[你您他她它这那]|我|^(?:上了|完|到|过|了|着|掉|光|得|的|不)`)
)

// place reads a city or a hometown.
func place(english, chinese string) func([]string, bool) (claim, bool) {
	return func(found []string, dense bool) (claim, bool) {
		value := trimValue(found[1])
		words := countWords(value)
		if noPlace.MatchString(value) || words > 5 || utf8.RuneCountInString(value) < 2 {
			return claim{}, false
		}
		return claim{aspect: reverie.AspectFeature, key: keyOf(english, chinese, dense), value: value}, true
	}
}

// attributeOf reads a feature that has one value.
func attributeOf(english, chinese string) func([]string, bool) (claim, bool) {
	return func(found []string, dense bool) (claim, bool) {
		value := trimValue(found[1])
		if value == "" || countWords(value) > 8 || strings.ContainsAny(value, "我你您他她它这那的") {
			return claim{}, false
		}
		return claim{aspect: reverie.AspectFeature, key: keyOf(english, chinese, dense), value: value}, true
	}
}

func keyOf(english, chinese string, dense bool) string {
	if dense {
		return chinese
	}
	return english
}

// several reads a feature of which people have more than one: the first is a
// feature, a further one a sentence.
func several(key, sentence string) func([]string, bool) (claim, bool) {
	return func(found []string, _ bool) (claim, bool) {
		value := trimValue(found[1])
		if value == "" || countWords(value) > 6 || noThing.MatchString(value) {
			return claim{}, false
		}
		return claim{aspect: reverie.AspectFeature, key: key, value: value, several: true, text: strings.Replace(sentence, "%s", value, 1)}, true
	}
}

// pet reads the name of an animal, which is a feature by the kind of animal.
func pet(found []string, dense bool) (claim, bool) {
	animal, called := strings.ToLower(found[1]), trimValue(found[2])
	first, _ := utf8.DecodeRuneInString(called)
	if called == "" || notPeople[strings.ToLower(called)] || strings.ContainsRune("了得着过起个不", first) {
		return claim{}, false
	}
	text := "has a " + animal + " called " + called
	if dense {
		text = "养了" + animal + "，叫" + called
	}
	return claim{aspect: reverie.AspectFeature, key: animal, value: called, several: true, text: text}, true
}

func kinOf(found []string, dense bool) (claim, bool) {
	return claim{aspect: reverie.AspectRelation, key: relationKind(found[1], dense)}, true
}

func kinOfOther(found []string, dense bool) (claim, bool) {
	return claim{aspect: reverie.AspectRelation, key: relationKind(found[2], dense), target: found[1]}, true
}

func kinNamed(found []string, dense bool) (claim, bool) {
	if notPeople[strings.ToLower(found[2])] || dense && !plausible(found[2]) {
		return claim{}, false
	}
	return claim{aspect: reverie.AspectRelation, key: relationKind(found[1], dense), target: found[2], swapped: true}, true
}

func relationKind(word string, dense bool) string {
	if dense {
		return word
	}
	return strings.ToLower(word) + " of"
}

// denial reads what somebody does not do.
func denial(found []string, _ bool) (claim, bool) {
	verb, rest := strings.TrimSuffix(strings.ToLower(found[2]), "s"), trimValue(found[3])
	if noThing.MatchString(rest) || countWords(rest) > 6 {
		return claim{}, false
	}
	text := "does not " + verb
	switch word := strings.ToLower(found[1]); {
	case word == "never":
		text = "never " + thirdPerson(verb)
	case strings.HasPrefix(word, "can"):
		text = "cannot " + verb
	}
	return claim{aspect: reverie.AspectImpression, text: strings.TrimSpace(text + " " + rest)}, true
}

// doing reads what somebody likes or does.
func doing(found []string, _ bool) (claim, bool) {
	verb, rest := thirdPerson(strings.ToLower(found[1])), trimValue(found[2])
	if rest == "" || noThing.MatchString(rest) || countWords(rest) > 8 || marksSelf.in(speak(fold(rest))) {
		return claim{}, false
	}
	return claim{aspect: reverie.AspectImpression, text: verb + " " + rest}, true
}

func doingDense(found []string, _ bool) (claim, bool) {
	rest := trimValue(found[2])
	bare := found[1] == "吃" || found[1] == "喝" || found[1] == "用" || found[1] == "抽" || found[1] == "爱"
	if rest == "" || bare || noThing.MatchString(rest) {
		return claim{}, false // 我吃饭了 is nothing lasting
	}
	return claim{aspect: reverie.AspectImpression, text: found[1] + rest}, true
}

// thirdPerson puts a verb of the present tense into the third person.
func thirdPerson(verb string) string {
	switch {
	case strings.HasSuffix(verb, "s"):
		return verb
	case hasAnySuffix(verb, "ch", "sh", "x", "o"):
		return verb + "es"
	case strings.HasSuffix(verb, "y") && !hasAnySuffix(verb, "ay", "ey", "oy", "uy"):
		return verb[:len(verb)-1] + "ies"
	}
	return verb + "s"
}

// afterthought is what people add to a sentence.
var afterthought = lazyregexp.New(`(?i)(?:\s+(?:btw|by the way|too|though|tho|as well|fyi|still|now|again|a lot|very much))+$`)

// trimValue cuts off what belongs to the sentence and not to the value.
func trimValue(s string) string {
	s = trimEnd(afterthought.ReplaceAllString(trimEnd(strings.TrimSpace(s)), ""))
	return strings.TrimRight(strings.TrimRight(s, "了啦啊呢哦吧呀哈嘛 "), " ")
}
