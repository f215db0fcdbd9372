package entity

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"reverie/internal/reverie"
)

// checkWords refuses what may not be kept as a name, a key, a kind or a text of at
// most limit characters: see [reverie.CheckStatement]. Its answer is a rule and
// what is wrong, or nothing.
func checkWords(s string, limit int) (rule, detail string) {
	if n := utf8.RuneCountInString(s); n > limit {
		return string(reverie.RuleTooLong), fmt.Sprintf("it has %d characters, at most %d are kept: shorten it", n, limit)
	}
	var broken *reverie.StatementError
	if err := reverie.CheckStatement(s); errors.As(err, &broken) {
		return string(broken.Rule), broken.Detail
	}
	return "", ""
}

// checkName refuses what cannot name anybody or anything.
func checkName(name string) (rule, detail string) {
	if rule, detail = checkWords(name, reverie.MaxNameLength); rule != "" {
		return rule, detail
	}
	switch {
	case reverie.IsID(strings.TrimSpace(name)):
		return ruleIdentity, "an id names nobody: say the name that the group uses"
	case isNobody(name):
		return ruleName, fmt.Sprintf("%q means nobody in particular: say who, by name", reverie.Excerpt(name, 40))
	}
	return "", ""
}

// isNobody tells words that stand for whoever is meant just now (he, someone,
// everyone, my wife, 大家) from names. The code cannot know whom they mean.
func isNobody(name string) bool {
	key := reverie.NameKey(name)
	return key == "" || englishNobody().MatchString(key) || chineseNobody().MatchString(key)
}

var englishNobody = onceRegexp(`^(?:` +
	`i|me|mine|myself|you|yours|yourself|he|him|his|himself|she|her|hers|herself|it|its|itself|they|them|theirs?|themselves|we|us|ours|ourselves|` +
	`(?:some|any|every|no) ?(?:one|body|thing)|one|who|whoever|others?|all|none|n/a|null|nil|unknown|anonymous|unnamed|` +
	`(?:(?:the|a|an|this|that|these|those|some|any|another|other|our|my|your|his|her|their|its|all|every|each|both|one|same|new|two|three|several|many) )*` +
	`(?:(?:chat|other|group|new|whole|best|close|old|ex|female|male|anonymous|unknown) )*(?:groups?|chat|channel|server|room|team|conversation|discussion|people|persons?|guys?|man|men|woman|women|girls?|boys?|kids?|` +
	`users?|members?|participants?|persons?|individuals?|authors?|speakers?|senders?|friends?|buddy|mates?|colleagues?|coworkers?|boss|manager|teachers?|neighbou?rs?|` +
	`wife|husband|partner|girlfriend|boyfriend|spouse|mom|mum|mother|dad|father|parents?|brothers?|sisters?|sons?|daughters?|child|children|family|uncle|aunt|cousins?|roommates?|` +
	`bots?|assistants?|chatbot|ai|model|admins?|moderators?)` +
	`)$`)

var chineseNobody = onceRegexp(`^(?:` +
	`我|你|您|他|她|它|咱|俺|(?:我|你|您|他|她|它|咱|俺|人)们|自己|本人|谁|某|某人|某某|有人|别人|旁人|他人|其他人|另一个人|另一人|对方|双方|人家|` +
	`大家|大伙儿?|大家伙|各位|诸位|所有人|每个人|任何人|没人|无|未知|不详|匿名|楼主|楼上|楼下|` +
	`(?:这|那|本|该|此|整|全)?个?(?:群|群聊|群组|群里|聊天群|小组|频道|讨论组|聊天室)的?(?:人|各位)?|` +
	`(?:一|两|几|某|这|那|其他|另一|全体|所有|部分|新|老)?(?:个|名|位|些)?(?:群里?的?)?(?:人|群友|群员|群成员|成员|用户|网友|参与者|发言者|发送者|作者|说话人|朋友|同学|同事|老板|领导|老师|邻居|室友|机器人|助手|管理员|群主)们?|` +
	`(?:我|你|您|他|她|咱|俺|我们|你们|他们|她们|咱们)(?:的|家)?(?:爸爸?|妈妈?|父亲|母亲|爹|娘|爷爷|奶奶|外公|外婆|老公|老婆|妻子|丈夫|先生|太太|媳妇|对象|男朋友|女朋友|男友|女友|哥哥?|姐姐?|弟弟?|妹妹?|儿子|女儿|孩子|娃|闺女|家人|父母|叔叔?|舅舅?|姑姑?|姨|朋友|同学|同事|老板|领导|老师|邻居|室友|群)们?` +
	`)$`)

// onceRegexp compiles an expression when it is first needed.
func onceRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
