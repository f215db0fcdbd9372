package safety

import (
	"regexp"
	"strings"
	"sync"
)

// FindPII returns the personal data in text that has a shape of its own: e-mail
// addresses and phone numbers, by position, none overlapping another. Names have none.
// Numbers that identify a person or pay for one are secrets: see [FindSecrets].
func FindPII(text string) []Finding {
	found := lookForPII(nil, text)
	if r := newReading(text); r != nil {
		for _, f := range lookForPII(nil, r.text) {
			f.Start, f.End = r.original(f.Start, f.End)
			found = append(found, f)
		}
	}
	return withoutOverlaps(found)
}

// MaskPII replaces personal data by its rule's name, as [pii:email].
func MaskPII(text string) string { return maskFound(text, FindPII(text), maskPII) }

// piiReach is how many bytes around an @ may be an address.
const piiReach = 254

var (
	email = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}`)
	})
	accountStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*)://(?:[A-Za-z0-9._%+-]*:)?$`)
	})
	phone = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A(?:` +
			`(?:\+|00)?86[ -]?1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}` + // a Chinese mobile phone with its country
			`|1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}` + // and without
			`|0(?:10|2[0-9]|[3-9][0-9]{2})[ -][2-9][0-9]{6,7}(?:-[0-9]{1,5})?|\(0(?:10|2[0-9]|[3-9][0-9]{2})\)[ -]?[2-9][0-9]{6,7}` + // Chinese landlines, area code first
			`|(?:0[1-9][0-9]{1,2})[2-9][0-9]{6,7}` +
			`|\+[1-9][0-9]{0,3}(?:[ .-]?\(?[0-9]{1,5}\)?){2,6}` + // E.164, as it is written in groups
			`|(?:1[ .-])?\([2-9][0-9]{2}\) ?[2-9][0-9]{2}[ .-]?[0-9]{4}|(?:1[ .-])?[2-9][0-9]{2}([.-])[2-9][0-9]{2}[.-][0-9]{4}` + // American ones
			`|[2-9][0-9]{2} [2-9][0-9]{2}[ -][0-9]{4}` +
			`)`)
	})
)

func lookForPII(found []located, text string) []located {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			break
		}
		from := max(at, at+i-piiReach)
		part := text[from:min(len(text), at+i+piiReach)]
		next := at + i + 1
		if m := email().FindStringIndex(part); m != nil && !accountOfHost(part, m) && !inAddress(text[max(0, from+m[0]-piiReach):from+m[0]]) {
			found = append(found, located{Finding{"email", from + m[0], from + m[1]}, 0})
			next = max(next, from+m[1])
		}
		at = next
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '+' && c != '(' && (c < '0' || c > '9') || i > 0 && continues(text[i-1]) {
			continue
		}
		m := phone().FindStringIndex(text[i:min(len(text), i+40)])
		if m != nil && isPhone(text, i, i+m[1]) {
			found = append(found, located{Finding{"phone", i, i + m[1]}, 1})
			i += m[1] - 1
		}
		if c >= '0' && c <= '9' {
			for i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
				i++
			}
		}
	}
	return found
}

// continues tells what stands inside a longer number, a word or an address.
func continues(c byte) bool {
	return isASCIIWord(c) || strings.IndexByte("._-/=#$@%&+(", c) >= 0
}

// accountOfHost tells git@github.com:… and root@10.0.0.5 from addresses of people.
func accountOfHost(part string, m []int) bool {
	address := part[m[0]:m[1]]
	return strings.HasPrefix(address, "git@") || strings.HasPrefix(part[m[1]:], ":/") || !strings.ContainsAny(address[strings.IndexByte(address, '@'):], ".")
}

// inAddress tells whether the account of a host follows, as in http://user@example.com or
// behind its name and a colon, rather than somebody's address.
func inAddress(before string) bool {
	m := accountStart().FindStringSubmatch(before)
	return m != nil && !strings.EqualFold(m[1], "mailto")
}

// isPhone looks at what stands around a phone number, and whether it has the digits of
// one: not the beginning of something longer, a price or a count.
func isPhone(text string, start, end int) bool {
	digits := 0
	for i := start; i < end; i++ {
		if text[i] >= '0' && text[i] <= '9' {
			digits++
		}
	}
	if digits < 8 || digits > 15 {
		return false
	}
	rest := text[end:]
	if rest != "" && (isASCIIWord(rest[0]) || strings.IndexByte("_-/@%=:", rest[0]) >= 0 && len(rest) > 1 && isASCIIWord(rest[1]) ||
		(rest[0] == '.' || rest[0] == ',') && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9') {
		return false
	}
	for _, unit := range [...]string{"元", "块", "条", "个", "次", "人", "行", "分", "万", "件", "股", "年", "円", "￥", " 元", " 块", " 条", " 个", " 次", " 人", " 行"} {
		if strings.HasPrefix(rest, unit) {
			return false
		}
	}
	before := strings.TrimRight(text[max(0, start-numberName):start], " :：#号是")
	for _, name := range [...]string{"¥", "￥", "$", "QQ", "qq", "Q", "群", "单", "会议", "meeting", "Meeting", "ID", "id", "Id", "uid", "UID", "order", "Order", "tracking", "zoom", "Zoom", "会议ID", "编", "订单", "运单", "invoice", "ticket", "timestamp", "时间戳", "共", "价格", "余额", "ISBN", "isbn"} {
		if strings.HasSuffix(before, name) {
			return false
		}
	}
	return true
}
