package reverie

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
)

// secretRules returns the shapes that are known, the specific before the
// general. The prefixes are those that the providers document.
func secretRules() []secretRule {
	rules := providerRules()
	rules = append(rules, containerRules()...)
	return append(rules, spokenRules()...)
}

// shape is a rule that begins with its keyword and is the secret as a whole.
func shape(name, expr string, keywords ...string) secretRule {
	return secretRule{name: name, keywords: keywords, re: regexp.MustCompile(`\A(?:` + expr + `)`)}
}

// looseShape is a rule whose keyword may stand anywhere in it.
func looseShape(name, expr string, keywords ...string) secretRule {
	return secretRule{name: name, keywords: keywords, re: regexp.MustCompile(expr), loose: true}
}

// in says which group of the expression is the secret, and what it must be.
func (r secretRule) in(group int, valid func(string) bool) secretRule {
	r.group, r.valid = group, valid
	return r
}

// providerRules know tokens by their own prefix.
func providerRules() []secretRule {
	return []secretRule{
		shape("aws-key", `(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, "akia", "asia", "abia", "acca"),
		shape("aws-secret", `(?i)aws[\w ]{0,20}(?:secret|access)[\w ]{0,20}["']?\s*(?:=|:|is)\s*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)`, "aws").in(1, mixed),
		shape("github-token", `gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
		shape("gitlab-token", `gl[a-z]{2,5}-[A-Za-z0-9_.-]{20,}`, "glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-", "glimt-", "gloas-", "glffct-"),
		shape("slack-token", `xox[abceoprs]-(?:[0-9]-)?[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}`, "xox", "xapp-"),
		shape("slack-webhook", `hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}`, "hooks.slack"),
		shape("anthropic-key", `sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}`, "sk-ant-"),
		shape("openai-key", `sk-[A-Za-z0-9_-]{20,}`, "sk-").in(0, mixed),
		shape("google-key", `AIza[0-9A-Za-z_-]{35}|GOCSPX-[0-9A-Za-z_-]{28}|ya29\.[0-9A-Za-z_-]{20,}`, "aiza", "gocspx-", "ya29."),
		shape("stripe-key", `[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}`, "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "whsec_"),
		shape("npm-token", `npm_[A-Za-z0-9]{36}\b`, "npm_"),
		shape("pypi-token", `pypi-[A-Za-z0-9_-]{50,}`, "pypi-"),
		shape("huggingface-token", `hf_[A-Za-z]{30,40}\b`, "hf_"),
		looseShape("telegram-token", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}`, ":aa"),
		shape("discord-token", `[MNO][DTjz][AEIMQUYcgk][w-z0-5][A-Za-z0-9_-]{18,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`, discordStarts()...),
		shape("discord-webhook", `(?i)discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{15,22}/[a-z0-9_-]{50,}`, "discord.com/api", "discordapp.com/api"),
		shape("sendgrid-key", `SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}`, "sg."),
		looseShape("jwt", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, "eyj"),
	}
}

// discordStarts are the first four characters that a bot token can have: it
// begins with the base64 of its id, which is a row of digits.
func discordStarts() (starts []string) {
	const digits = "0123456789"
	for _, a := range digits {
		for _, b := range digits {
			for _, c := range digits {
				starts = append(starts, strings.ToLower(base64.StdEncoding.EncodeToString([]byte{byte(a), byte(b), byte(c)})))
			}
		}
	}
	return starts
}

// containerRules know secrets by what stands around them.
func containerRules() []secretRule {
	return []secretRule{
		shape("private-key", `-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|$)`, "-----begin "),
		shape("url-password", `(?i)://[^\s:/?#@]*:([^\s/@]{3,})@[a-z0-9\[]`, "://").in(1, notPlaceholder),
		shape("bearer-token", `(?i)bearer\s+([A-Za-z0-9._~+/=-]{16,})`, "bearer").in(1, mixed),
		shape("basic-auth", `(?i)authorization["']?\s*[:=]\s*["']?basic\s+([A-Za-z0-9+/=]{8,})`, "authorization").in(1, mixed),
	}
}

// spokenRules know passwords as people write them into a chat.
func spokenRules() []secretRule {
	const (
		is    = `["']?\s*(?:is now|is|was|are|now|changed to|=>|:=|=|:|：|→)\s*["'“‘「『` + "`" + `(]{0,2}`
		zhIs  = `[^\S\n]*(?:就是|改成了?|换成了?|改为|換成了?|改為|設為|设为|设成|還是|还是|是|为|為|=|:|：|→)\s*["'“‘「『` + "`" + `(（]{0,2}`
		value = `([!-~]{4,})(?:[^!-~年月日位个個次天号號元块塊人]|$)`
	)
	rules := []secretRule{
		shape("password", `(?i)(?:password|passwd|passphrase|passcode|pwd|psw|wi-?fi pass|wifi key)(?:\s+(?:for|of|to|on)\s+(?:\S+\s+){1,4}?)?`+is+value,
			"password", "passwd", "passphrase", "passcode", "pwd", "psw", "wifi pass", "wi-fi pass", "wifi key").in(1, spokenPassword),
		shape("password", `(?:密码|密碼|口令|暗号|暗號|通行码|通行碼)(?:[^\S\n]*[(（][^)）\n]{0,12}[)）])?`+zhIs+value,
			"密码", "密碼", "口令", "暗号", "暗號", "通行码", "通行碼").in(1, spokenPassword),
		shape("one-time-code", `(?i)(?:(?:pin|otp|verification code|security code|2fa code|door code|gate code)(?: code)?`+is+`|(?:验证码|驗證碼|动态码|動態碼|校验码|门禁码|取件码)`+zhIs+`)([0-9]{4,8}|[0-9]{3}[ -][0-9]{3})(?:[^0-9!-~年月日位]|[.,!?;)"']|$)`,
			"pin", "otp", "verification code", "security code", "2fa code", "door code", "gate code", "验证码", "驗證碼", "动态码", "動態碼", "校验码", "门禁码", "取件码").in(1, nil),
		shape("api-key", `(?i)(?:(?:api|secret|access)[ _-]?key|client[ _-]?secret|token|secret)`+is+`([!-~]{12,})`,
			"api key", "api_key", "api-key", "apikey", "secret", "access key", "access_key", "access-key", "accesskey", "client secret", "client_secret", "client-secret", "clientsecret", "token").in(1, spokenToken),
		shape("api-key", `(?i)(?:密钥|密鑰|秘钥|秘鑰|金鑰|私钥|私鑰|令牌|token|key)`+zhIs+`([!-~]{12,})`, "密钥", "密鑰", "秘钥", "秘鑰", "金鑰", "私钥", "私鑰", "令牌", "token", "key").in(1, spokenToken),
	}
	for i := range rules {
		rules[i].trim = `.,;:?"')>]}` + "`"
	}
	return rules
}

// mixed tells a random token from words: letters and digits, and more than a
// few different ones.
func mixed(value string) bool {
	return notPlaceholder(value) && strings.ContainsFunc(value, unicode.IsDigit) &&
		strings.ContainsFunc(value, unicode.IsLetter) && distinct(value) >= 8
}

// spokenToken tells a key that somebody names as one: mixed, and no path or
// address.
func spokenToken(value string) bool {
	return len(value) >= 12 && mixed(value) && !strings.Contains(value, "://") && !strings.HasPrefix(value, "/")
}

// spokenPassword tells a password from the next word of the sentence: it has a
// digit, or both cases or a symbol inside. "The password is required" is none.
func spokenPassword(value string) bool {
	if len(value) < 4 || !notPlaceholder(value) {
		return false
	}
	if strings.ContainsFunc(value, unicode.IsDigit) {
		return !lengthHint.MatchString(value)
	}
	if len(value) < 6 {
		return false
	}
	inner := value[1:]
	upper, lower := strings.ContainsFunc(inner, unicode.IsUpper), strings.ContainsFunc(inner, unicode.IsLower)
	return upper && lower || strings.ContainsAny(value, "@#$%^&*+=!?~_")
}

// lengthHint is what rules about passwords are made of (8-16, 12+, 30days), or
// a version.
var lengthHint = regexp.MustCompile(`(?i)^(?:[0-9]{1,3}(?:[-–~+][0-9]{0,3})?-?(?:chars?|characters?|digits?|letters?|words?|bits?|days?|weeks?|months?|hours?)?|v?[0-9]+(?:\.[0-9]+)+)$`)

// notPlaceholder refuses what stands where a secret would: ****, <password>,
// ${TOKEN}, your-key-here.
func notPlaceholder(value string) bool {
	if strings.ContainsAny(value[:1], "<{[$%") || placeholder.MatchString(value) {
		return false
	}
	return distinct(value) > 1 || strings.ContainsFunc(value, unicode.IsDigit)
}

var placeholder = regexp.MustCompile(`(?i)^(?:x+|\*+|\.+|•+|pass(?:word|wd)?|user(?:name)?|secret|token|redacted|hidden|changeme|your[-_].*|my[-_]?password|example.*|placeholder.*|none|null|nil|undefined|todo)[.,;!?"')]*$`)

// distinct counts the different bytes of a value.
func distinct(value string) int {
	var seen [256]bool
	n := 0
	for i := range len(value) {
		if !seen[value[i]] {
			seen[value[i]] = true
			n++
		}
	}
	return n
}
