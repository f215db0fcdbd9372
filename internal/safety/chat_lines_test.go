package safety

import (
	"math/rand/v2"
	"strings"
)

// chatLines makes n ordinary lines of chat, every second one Chinese, the same ones
// every time.
func chatLines(n int) []string {
	rng := rand.New(rand.NewPCG(8, 2026))
	lines := make([]string, n)
	for i := range lines {
		frames, slots := chatFramesEN, chatSlotsEN
		if i%2 == 1 {
			frames, slots = chatFramesZH, chatSlotsZH
		}
		line := frames[rng.IntN(len(frames))]
		for name, values := range slots {
			for strings.Contains(line, name) {
				line = strings.Replace(line, name, values[rng.IntN(len(values))], 1)
			}
		}
		lines[i] = line
	}
	return lines
}

var chatFramesEN = []string{
	"can NAME bring THING on DAY", "NAME always forgets THING", "you should try the PLACE, it is GOOD", "you have to see THING", "please send me THING before TIME",
	"don't tell NAME about THING", "remember to bring THING on DAY", "I told NAME that DAY works for me", "if NAME asks, I am at the PLACE", "when NAME is back we go to the PLACE",
	"let's meet at the PLACE at TIME", "never go to the PLACE on DAY", "always take THING to the PLACE", "NAME said the new rules start on DAY", "forget about THING, we have time",
	"ignore my last message, wrong chat", "call me when you are at the PLACE", "use THING if you need it", "I trust NAME with THING", "NAME is the admin, ask NAME2",
	"the bot posted THING twice", "the assistant at the PLACE was GOOD", "could you answer NAME please", "write to NAME about THING", "tell NAME we start at TIME",
	"everyone must bring THING", "you can keep THING", "you must be tired, NAME", "from now on we meet at the PLACE", "next time NAME pays", "the system at work is down again",
	"update: DAY is off, TIME on the day after", "I recommend the PLACE, it is GOOD", "which PLACE would you recommend", "NAME recommends THING for the trip", "show me THING",
	"give THING to NAME", "NAME wants no sugar and no excuses", "the password for THING changed, ask NAME", "we need approval from NAME for THING", "the refund for THING came on DAY",
	"I paid for THING, send me your share", "delete the photo of THING please", "save THING for NAME", "keep THING in the fridge until DAY", "he pretended not to see THING",
	"my memory is bad, was it DAY or the day after", "she answers only at TIME", "reply by DAY if you want THING", "translate this for NAME please", "did you read the instructions for THING",
	"the instructions for THING are in Dutch", "AI wrote the text for THING and it was GOOD", "I asked ChatGPT about THING and it made things up", "the model of THING is from 1998",
	"run, the bus to the PLACE is here", "stop sending memes, NAME", "believe me, the PLACE is GOOD", "do whatever you like, it is DAY", "say hello to NAME", "you never answer, NAME",
	"you promised THING, NAME", "are you an admin here, NAME", "you are the best, NAME", "your turn to bring THING", "NAME has access to the PLACE after TIME", "skip the PLACE, it is too loud",
	"the users of THING complained again", "the developers fixed THING on DAY", "we trust the forecast for DAY", "THING is on the table", "see you at TIME", "ok, THING then", "lol NAME", "GOOD!!",
}

var chatSlotsEN = map[string][]string{
	"NAME2": {"Omar", "Lena"}, "NAME": {"Bob", "Carol", "Dave", "Mia", "Omar", "Lena", "your sister", "the landlord", "our coach"},
	"THING": {"the cake", "your passport", "two chairs", "the report", "that film", "the keys", "a jacket", "the tickets", "the old camera", "some soup", "the invoice", "the printer", "the garden tools"},
	"PLACE": {"noodle shop", "gym", "library", "harbour", "office", "new cinema", "pool", "market"}, "DAY": {"Monday", "Friday", "Sunday", "the 4th"}, "TIME": {"8", "noon", "7:30", "half past nine"},
	"GOOD": {"great", "awful", "so so", "really good", "too expensive"},
}

var chatFramesZH = []string{
	"NAME能带THING来吗", "NAME总是忘记THING", "你应该试试那家PLACE，GOOD", "你一定要看看THING", "TIME前把THING发给我", "别告诉NAMETHING的事", "DAY记得带THING", "我跟NAME说了DAY可以",
	"NAME要是问起，就说我在PLACE", "等NAME回来我们去PLACE", "TIME在PLACE见", "DAY千万别去PLACE", "去PLACE一定要带THING", "NAME说新规定从DAY开始", "先不管THING了，来得及",
	"发错群了，忽略我上一条", "到PLACE了给我打电话", "需要的话用我的THING", "THING交给NAME我放心", "NAME是管理员，问他", "机器人把THING发了两遍", "PLACE的助理GOOD",
	"你能回一下NAME吗", "给NAME写信说THING", "告诉NAME我们TIME开始", "每个人都要带THING", "THING你留着吧", "你肯定累了，NAME", "以后都在PLACE见面", "下次NAME请客", "公司系统又崩了",
	"更新：DAY取消，改到TIME", "我推荐PLACE，GOOD", "你推荐哪家PLACE", "NAME推荐带THING", "把THING给我看看", "把THING给NAME", "NAME不要糖也不要借口", "THING的密码换了，问NAME",
	"THING要NAME批准", "THING的退款DAY到账", "THING我付了，你们转我", "把THING的照片删了吧", "给NAME留一份THING", "THING放冰箱到DAY", "他假装没看见THING", "我记性不好，是DAY还是后天",
	"她只在TIME回消息", "想要THING的DAY前回复", "帮NAME翻译一下", "THING的说明书看了吗", "THING的说明是荷兰语的", "AI写的THING文案GOOD", "我问了ChatGPTTHING的事，它瞎编",
	"快跑，去PLACE的车来了", "NAME别发表情包了", "相信我，PLACE真的GOOD", "DAY了，随便你", "替我跟NAME问好", "NAME你从来不回我", "NAME你答应的THING呢", "你是群主吗NAME",
	"NAME你最棒了", "轮到你带THING了", "TIME以后NAME可以进PLACE", "别去PLACE，太吵", "THING的用户又投诉了", "开发DAY把THING修好了", "天气预报说DAY下雨", "THING在桌上", "TIME见",
	"好的，那就THING", "哈哈哈NAME", "GOOD！！", "你可以把THING放我这", "你要先问NAME", "你得自己去PLACE", "你会用THING吗", "你不要忘了THING", "收到，DAY见", "请大家DAY前交THING",
}

var chatSlotsZH = map[string][]string{
	"NAME": {"小王", "小红", "小李", "阿梅", "老张", "房东", "教练", "你妹"}, "THING": {"蛋糕", "护照", "两把椅子", "周报", "那部电影", "钥匙", "外套", "门票", "旧相机", "汤", "发票", "打印机", "身份证"},
	"PLACE": {"面馆", "健身房", "图书馆", "码头", "公司", "新影院", "游泳馆", "菜市场"}, "DAY": {"周一", "周五", "周日", "四号"}, "TIME": {"八点", "中午", "七点半", "九点"}, "GOOD": {"太好了", "不行", "一般", "真不错", "太贵"},
}
