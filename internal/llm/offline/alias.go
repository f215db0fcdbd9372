package offline

import (
	"strings"

	"reverie/internal/lazyregexp"
)

// aliasSayings are how people say what they are called.
var aliasSayings = []*lazyregexp.Regexp{
	lazyregexp.New(`(?i)^(?:(?:please|just|but|so|also|you can|you may|you guys|everyone|everybody|people|friends|my friends|they|all|can|should) )*calls? me ` +
		name + `\s*(?:[.!,]|$|(?:please|instead|from now on|if you like|everyone|everybody|for short|by the way|btw|guys|all)\b)`),
	lazyregexp.New(`(?i)^(?:i (?:also |usually )?go by|my name(?: is|['’]s)|the name(?: is|['’]s)|name['’]s|i(?:['’]m| am) (?:also )?(?:called|known as)) ` + name + `\s*(?:[.!,]|$|(?:btw|by the way|here|now|from now on)\b)`),
	lazyregexp.New(`^(?:以后|今后|就|请|可以|大家|都|也|你们|你|朋友们?|家里人|熟人|同事们?|平时|一般|可以直接|直接|还是)*(?:叫|喊|称呼)我(?:做|为)?([^，,。.！!；;、？?\s]{2,8}?)(?:就行|就好|就可以|就可以了|即可|好了|也行|都行)?[了啦啊哦吧呀哈嘛]*(?:[，,。.！!；;、~～\s]|$)`),
	lazyregexp.New(`^我(?:也|就|现在|以后|大名|真名|本名)*叫([^，,。.！!；;、？?\s]{2,8}?)[啦啊哦呀哈]*(?:[，,。.！!；;、~～\s]|$)`),
	lazyregexp.New(`^我的?(?:名字|昵称|网名|外号|小名|绰号)(?:叫|是)([^，,。.！!；;、？?\s]{2,8}?)[啦啊哦呀哈]*(?:[，,。.！!；;、~～\s]|$)`),
}

// noAlias is what follows "call me" or 叫我 and is nobody's name.
var (
	noAlias      = wordSet(`later back when maybe if at a an the old crazy stupid tonight now anytime tomorrow today names that this any what whatever weird lazy in on for and or soon up out cynical paranoid`)
	noAliasDense = lazyregexp.New(`[我你您他她它们这那去来吃喝玩起帮做干看给说走回买拿带打开睡醒早晚了的不没上下出进过着]|什么|怎么|外卖|一声`)
)

// aliasIn returns what an author says that he or she is called, "" if nothing is
// said of that.
func aliasIn(clause string) string {
	for _, p := range aliasSayings {
		found := p.FindStringSubmatch(clause)
		if found == nil {
			continue
		}
		if alias := strings.TrimSpace(found[1]); isDense(alias) && !noAliasDense.MatchString(alias) || !isDense(alias) && !noAlias[strings.ToLower(alias)] {
			return alias
		}
	}
	return ""
}
