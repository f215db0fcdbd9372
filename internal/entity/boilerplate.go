package entity

import (
	"strings"

	"reverie/internal/reverie"
)

// isBoilerplate tells a claim that says nothing of its subject which is not true
// of whoever writes in a chat: that it is a member, sends messages, takes part.
// A sentence is boilerplate when each of its clauses is one; whatever else it says
// saves it. names are the subject's own.
func isBoilerplate(c reverie.ObservedClaim, names []string) bool {
	switch c.Aspect {
	case reverie.AspectFeature:
		return emptyValue().MatchString(textForm(c.Value)) || namesItself(c.Value, names)
	case reverie.AspectRelation:
		return false
	}
	if namesItself(c.Value, names) {
		return true
	}
	text := textForm(c.Value)
	for _, name := range names {
		if key := reverie.NameKey(name); key != "" {
			text = strings.TrimSpace(strings.TrimPrefix(text, key))
		}
	}
	clauses := clauseEnds().Split(text, -1)
	for _, clause := range clauses {
		clause = strings.Trim(clause, " .。!！,，;；…~")
		if clause != "" && !englishBoilerplate().MatchString(clause) && !chineseBoilerplate().MatchString(clause) && !emptyValue().MatchString(clause) {
			return false
		}
	}
	return true
}

// namesItself tells a value that only repeats a name of its subject.
func namesItself(value string, names []string) bool {
	key := reverie.NameKey(value)
	for _, name := range names {
		if key == reverie.NameKey(name) {
			return true
		}
	}
	return false
}

// emptyValue is what models write where they have nothing to say.
var emptyValue = onceRegexp(`^(?:n/?a|none|null|nil|unknown|unclear|unspecified|not (?:known|specified|mentioned|stated|available|applicable|clear)|undetermined|` +
	`(?:no|not enough|insufficient) (?:further |specific |other |notable )?(?:info|information|details?|data|evidence)(?: (?:is )?(?:available|given|provided))?|nothing(?: (?:notable|special|known|to report))?|-+|\?+|` +
	`未知|不详|不明|不清楚|无|没有|暂无|未提及|未提到|没有提到|(?:暂无|没有|无|缺乏)(?:更多|足够|其他|相关|具体)?的?(?:信息|资料|内容)|无特别(?:之处)?)$`)

// clauseEnds is what stands between clauses.
var clauseEnds = onceRegexp(`\s*[.。!！,，;；、]\s*|\s+(?:and|who|but|or)\s+(?:also\s+)?|并且|而且|并|且|也会|还会|和(?:积极|经常|常常)`)

const (
	englishPlace  = `(?:(?:the|this|that|our|a|their|your|same)? ?(?:group|chat|group chat|chat group|chat room|chatroom|channel|server|community|conversations?|discussions?|chats|threads?|team chat|here))`
	englishAdverb = `(?:(?:also|often|frequently|regularly|usually|sometimes|occasionally|actively|always|very|quite|highly|currently|recently|just|still|fairly|really|mostly|simply|generally|has|have|had|been|being|seems?|seemed|appears?|appeared|to|be|is|are|was|were|someone who|a person who|he|she|they|it) )*`
	englishDays   = `(?: (?:often|regularly|frequently|actively|recently|today|yesterday|every ?day|daily|a lot|too|as well|this week|during the (?:day|week|period|window|conversation)|in the (?:past|last) [a-z0-9 ]+))*`
)

var englishBoilerplate = onceRegexp(`^` + englishAdverb + `(?:` + strings.Join([]string{
	`(?:(?:a|an|the|one of the|another|some) )?(?:(?:active|regular|frequent|new|current|long-?time|existing|human|valued|engaged|known|group|chat|other|keen) )*(?:members?|participants?|users?|contributors?|person|people|individual|human(?: being)?|someone|somebody|chatter|author|sender|speaker|bot|part)(?: (?:of|in|on|from|at) ` + englishPlace + `)?`,
	`(?:participat(?:es|ed|ing|e)|takes? part|took part|taking part|contribut(?:es|ed|ing|e)|chat(?:s|ted|ting)?|talk(?:s|ed|ing)?|communicat(?:es|ed|ing|e)|interact(?:s|ed|ing)?|speaks?|spoke|speaking|join(?:s|ed|ing)?|(?:engag(?:es|ed|ing|e)|involved) (?:in|with) (?:others|people|everyone|` + englishPlace + `))(?: (?:in|with|to|on|at) (?:(?:the )?(?:other|others|everyone|people|the members|(?:other |group |the )*(?:members|users|participants)|each other)|` + englishPlace + `))*`,
	`(?:sends?|sent|sending|posts?|posted|posting|writes?|wrote|writing|leaves?|left|shar(?:es|ed|ing|e)) (?:(?:a|an|the|some|several|many|few|a few|multiple|one|two|three|lots of|various|short|chat|text|group|\d+) )*(?:messages?|texts?|posts?|comments?|lines?)(?: (?:in|to|on|with|from) (?:the (?:others|members)|others|everyone|` + englishPlace + `))*`,
	`(?:active|present|online|here|visible)(?: (?:in|on|at|within) ` + englishPlace + `)?`,
	`(?:mentioned|quoted|addressed|referenced|named|tagged|replied to|talked (?:to|about)|discussed|greeted)(?: (?:by|in|on) (?:others?|someone|somebody|(?:other |another |a |the )*(?:members?|users?|participants?)|` + englishPlace + `))*`,
	`(?:repl(?:ies|ied|y|ying)|respond(?:s|ed|ing)?|react(?:s|ed|ing)?) to (?:(?:a|the|some|other|others'?|someone'?s?|another|several|group) ?)*(?:messages?|questions?|others|people|members?|users?|someone|everyone)?`,
	`(?:asks?|asked|asking|answers?|answered|answering) (?:(?:a|the|some|several|many|few|\d+) )*questions?(?: (?:in|to|of|from) (?:others|` + englishPlace + `))*`,
	`(?:has|have|had|holds?|held|having) (?:a |some |several )?(?:conversations?|discussions?|chats?)(?: (?:in|with) (?:others|(?:other |the )*(?:members|users|people)|` + englishPlace + `))*`,
	`(?:uses?|used|using|visits?|visited|reads?|reading) ` + englishPlace,
}, "|") + `)` + englishDays + `$`)

const (
	chinesePlace  = `(?:(?:本|这个|这|该|此|我们|咱们)?(?:群|群聊|群组|聊天群|聊天室|小组|频道|讨论组|社区|聊天|对话|讨论|群里|群内|群中)(?:里面|里|内|中|当中|上)?)`
	chineseAdverb = `(?:他|她|它|其|也|都|经常|常常|常|时常|有时候?|偶尔|一直|总是|积极地?|活跃地?|主动|频繁地?|多次|曾经?|最近|今天|昨天|每天|正在|还|又|似乎|看起来|好像|很|非常|比较|是一个|会|跟大家|和大家|与大家|跟别人|和其他(?:人|成员)|与其他(?:人|成员|群友))*`
)

var chineseBoilerplate = onceRegexp(`^` + chineseAdverb + `(?:在|于)?` + chinesePlace + `?的?` + chineseAdverb + `(?:` + strings.Join([]string{
	`(?:是|为|作为|属于)?(?:一|1)?(?:个|名|位)?` + chinesePlace + `?的?(?:一|1)?(?:个|名|位)?(?:活跃|积极|普通|新|老|正式|常驻)?的?(?:成员|群成员|群员|群友|用户|人|参与者|网友|发言者|一员|人类|人物|机器人)之?一?`,
	`(?:聊天|发言|说话|讲话|交流|互动|冒泡|水群|潜水|聊|说|活跃|在线|出现|存在|活动)(?:过|了|着)?(?:聊天|得?很?活跃|很?积极)?`,
	`(?:参与|参加|加入)(?:了|过|到)?` + chinesePlace + `?的?(?:群聊|讨论|聊天|对话|话题|交流|互动|群内讨论)?(?:中|里)?`,
	`(?:发|发送|发布|发表|写|留|分享)(?:了|过|送)?(?:很多|许多|几|一|一些|若干|多|两|三|\d+)?(?:条|句|个)?(?:聊天)?(?:消息|信息|留言|内容|话|评论|言论|言)`,
	`(?:回复|回应|回答|答复|提问|提出|问)(?:了|过)?(?:别人|他人|其他人|大家|对方|群友|消息|问题|一些|几个|一个|某人|其他成员|别人的|他人的|大家的)*(?:消息|问题|话)?`,
	`被(?:别人|其他人|他人|群友|大家|成员|其他成员)?(?:提到|提及|点名|回复|@|艾特|讨论)(?:过|了)?`,
	`(?:使用|用|看|阅读)(?:了|过)?` + chinesePlace,
}, "|") + `)$`)
