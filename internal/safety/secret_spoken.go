package safety

import (
	"slices"
	"strings"

	"reverie/internal/lazyregexp"
)

// What joins a password's name and the password.
const (
	quotes = `["'“”‘’「『《` + "`" + `(（\[【<]{0,2}`

	enIs = `["']?\s*(?:is now|is still|is just|is|was|are|be|now|changed to|set to|reset to|should be|=>|->|:=|==|=|:|：|→|就是|是|为)\s*(?:now |still |just |this: ?|the following: ?|back to )?` + quotes
	zhIs = `[^\S\n]*(?:现在|暂时|就|都|还|一直|统一|默认)?(?:就是|改成了?|换成了?|改为|換成了?|改為|变成了?|設為|设为|设成了?|设置成了?|設成|重置成了?|重置为|更新为|还是|還是|都是|是|为|為|叫|用|=|:|：|→|->)\s*(?:了|这个|这串|这个：|：)?\s*` + quotes

	// what ends a value: anything but its characters and what makes a count or a date of it
	zhEnd  = `(?:[^!-~年月日位个個次天号號元块塊人分秒点小岁届版章页多以到之字种条]|$)`
	value  = `([!-~]{4,})` + zhEnd
	digits = `([0-9]{4,12})` + zhEnd

	enNames = `(?:password|passwd|passphrase|pass ?code|passwrd|pword|pwd|psw|pswd|pass ?word|wi-?fi (?:pass|key|pw)|pw|pass)`
	enSure  = `(?:password|passwd|passphrase|pass ?code|pwd|pw|wi-?fi (?:pass|key|pw))` // no verbs
	zhNames = `(?:密[ 　]?码|密[ 　]?碼|口[ 　]?令|暗号|暗號|通行码|通行碼|密碼子|密匙)`
)

var (
	enWords   = []string{"password", "passwd", "passphrase", "passcode", "pass code", "passwrd", "pword", "pwd", "psw", "pass word", "wifi pass", "wi-fi pass", "wifi key", "wifi pw", "wi-fi pw", "pw", "pass"}
	sureWords = []string{"password", "passwd", "passphrase", "passcode", "pass code", "pwd", "pw", "wifi pass", "wi-fi pass", "wifi key", "wi-fi key", "wifi pw", "wi-fi pw"}
	zhWords   = []string{"密码", "密碼", "口令", "暗号", "暗號", "通行码", "通行碼", "密匙", "密 码", "密　码", "密 碼", "密　碼", "口 令", "口　令"}
)

// spokenRules know passwords as people write them into a chat.
func spokenRules() []secretRule {
	rules := gated(englishRules(), hasMark)
	rules = append(rules, gated(chineseRules(), hasASCII)...)
	rules = append(rules, gated(otherRules(), hasMark)...)
	rules = append(rules, gated(codeWordRules(), hasDigit)...)
	rules = append(rules, gated(keyWordRules(), hasMark)...)
	rules = append(rules, pairRule())
	for i := range rules {
		rules[i].trim += `.,;:?"')>]}` + "`"
	}
	return rules
}

// englishRules know "the password is …" and its relatives.
func englishRules() []secretRule {
	return []secretRule{
		shape("password", `(?i)`+enNames+`(?:\s*\([^)\n]{0,20}\))?(?:\s+(?:for|of|to|on|at|in)\s+(?:\S+\s+){1,5}?)?`+enIs+value, enWords...).in(1, spokenPassword).within(),
		shape("password", `(?i)`+enNames+`["']?\s*=\s*`+quotes+`([!-~]{4,})`, enWords...).in(1, givenPassword).within().through(namesValue),
		shape("password", `(?i)`+enNames+`["']?\s*(?::|：)\s*`+quotes+`([!-~]{4,})(?:\s*$|[ \t]*[\n\p{Han}，。；、！）])`, enWords...).in(1, givenPassword).within().through(namesValue),
		shape("password", `(?i)`+enNames+`\s+(?:is|was)\s+["'“‘`+"`"+`]([^"'”’`+"`"+`\n]{4,40})["'”’`+"`"+`]`, enWords...).in(1, notPlaceholder),
		shape("password", `(?i)`+enSure+`\s+([!-~]{5,})`, sureWords...).in(1, farPassword),
		shape("password", `(?i)`+enSure+`s?(?:,?\s+[a-z']{1,12}){0,6}?,?\s+(?:to|as|is|into|it's|its|with|like)[\s:]+["'“‘`+"`"+`]?([!-~]{5,})`, sureWords...).in(1, farPassword),
		shape("password", `(?i)([!-~]{5,64}?)["'”’`+"`"+`]?,?\s+(?:is|as|was|works as|for|=)\s+(?:the|my|our|your|his|her|a|new|its)\s+(?:[\w-]+\s+){0,3}?`+enNames+`\b`, enWords...).behind(110).through(namesBefore).in(1, farPassword),
		shape("login", `(?i)(?:log ?in|sign ?in|logon|log on|ssh in|logging in|authenticate|connect)\s+(?:\S+\s+){0,3}?(?:with|as|using|via|by)\s+["'“]?[\w.@+-]{2,40}["'”]?\s*(?:and|/|:|,|;|\||with|pw|pass(?:word)?|\s)\s*(?:password\s*|pw\s*|pass\s*)?["'“‘]?([!-~]{5,})`,
			"login", "log in", "signin", "sign in", "logon", "log on", "ssh in", "logging in", "authenticate", "connect").in(1, farPassword),
		shape("login", `(?i)(?:creds?|credentials?|logins?|accounts?|acct|user(?:name)?s?(?:\s*/\s*pass(?:word)?)?|admin|root|id/pw)(?:\s+(?:for|of|to|on|at)\s+(?:\S+\s+){0,3}?\S+?|\s+(?:here|again|below|info|details))?(?:\s+(?:are|is)\s+|\s+->?\s+|\s*(?:=|:|：)\s*)["'“]?([\w.@+-]{2,64})["'”]?\s*(?:/|:|\||,|;|\s-\s|\s+and\s+|\s)\s*(?:pass(?:word)?\s*[:=]?\s*|pw\s*[:=]?\s*)?["'“]?([!-~]{5,})`,
			"cred", "credential", "login", "account", "acct", "user", "admin", "root", "id/pw").in(2, farPassword).unlessIs(1, "in", "at", "on", "the", "to", "not", "from", "no", "now", "a", "an", "by", "for", "with", "my", "your", "our"),
		shape("login", `(?i)(?:creds?|credentials?)\s+[\w.@+-]{2,64}\s*[/:|]\s*([!-~]{5,})`, "cred", "credential").in(1, farPassword),
		shape("wifi-password", `(?i)wi-?fi\s*(?:network)?\s*(?:is|:|：|=|-)\s*["'“]?[\w .-]{2,32}?["'”]?\s*(?:/|,|，|\||:|：|\s-\s|\s)\s*(?:(?:pass(?:word)?|pw|key)\s*(?:is|:|=)?\s*)?["'“]?([!-~]{8,})`, "wifi", "wi-fi").in(1, farPassword),
		shape("command-password", `(?i)requirepass\s+([!-~]{4,})`, "requirepass").in(1, notPlaceholder),
	}
}

// chineseRules know 密码是… and its relatives.
func chineseRules() []secretRule {
	return []secretRule{
		shape("password", zhNames+`(?:[^\S\n]*[(（][^)）\n]{0,12}[)）])?`+zhIs+`([!-~]{4,})`+zhEnd, zhWords...).in(1, givenPassword),
		shape("password", zhNames+`[^\S\n]*(?:是|：|:)?[^\S\n]*`+quotes+digits, zhWords...).in(1, code),
		shape("password", zhNames+`(?:[^\S\n]*[(（][^)）\n]{0,12}[)）])?[^\S\n]*`+quotes+value, zhWords...).in(1, strongPassword),
		shape("password", zhNames+`(?:就是|是|为|：|:)\s*["“‘「『《]([^"”’」』》\n]{2,24})["”’」』》]((?:[那这][个款部首种])?)`, zhWords...).in(1, notPlaceholder).unlessHas(2, "那", "这"),
		shape("password", zhNames+`(?:就是|是|为|：|:|)\s*((?:[0-9零〇一二两三四五六七八九幺]个[0-9零〇一二三四五六七八九]){1,4}|[零〇一二三四五六七八九幺]{4,})`, zhWords...).in(1, nil),
		shape("password", zhNames+`([^!-~\n。！？；]{1,14}?)[^\S\n]*["'“‘「『(（]{0,2}([!-~]{5,})`+zhEnd, zhWords...).in(2, farPassword).unlessHas(1, notGiven...),
		shape("password", `([!-~]{5,64}?)["'”’」』]?[^\S\n]*(?:就是|是|做|作|作为|当|当做|为)(?:[^!-~\n，。！？]{0,8}|wifi|WiFi|Wi-Fi|WIFI)?`+zhNames, zhWords...).behind(100).through(namesBefore).in(1, farPassword),
		shape("share-code", `(?:提取码|提取碼|提取密码|访问码|分享码|取件码|验证口令)[^\S\n]*(?:就是|是|为|=|:|：)?[^\S\n]*`+quotes+`([A-Za-z0-9]{4,6})(?:[^A-Za-z0-9位]|$)`, "提取码", "提取碼", "提取密码", "访问码", "分享码", "取件码", "验证口令").in(1, nil),
		shape("login", `(?:账号|帐号|帳號|賬號|用户名|用戶名|账户|账密|登录名|账号密码|账号/密码|用户名/密码|用户名/口令|账号口令|后台|管理员)(?:[和与及/、]?(?:密码|口令))?(?:都?是|为|分别是|:|：|用)?[^\S\n]*["'“]?[\w.@+-]{2,64}["'”]?[^\S\n]*(?:/|／|\||:|：|,|，|、|;|；|和|跟|\s)[^\S\n]*(?:密码|口令|pw)?[^\S\n]*(?:是|:|：)?[^\S\n]*["'“]?([!-~]{5,})`+zhEnd,
			"账号", "帐号", "帳號", "賬號", "用户名", "用戶名", "账户", "账密", "登录名", "后台", "管理员").in(1, farPassword),
		shape("login", `(?:用|拿|输|输入|填|敲)[^\S\n]*["'“‘「]?([!-~]{5,64}?)["'”’」]?[^\S\n]*(?:登录|登陆|登入|登錄|解压|解锁|开门|连wifi|连WiFi|连无线|就能登|就能进|解密)`, "登录", "登陆", "登入", "登錄", "解压", "解锁", "开门", "连wifi", "连无线", "就能登", "就能进", "解密").behind(110).through(namesBefore).in(1, farPassword),
		shape("wifi-password", `(?:无线|无线网|WiFi|wifi|Wifi|WIFI|Wi-Fi|热点)[^\S\n]*(?:名|名称|是|叫|:|：)?[^\S\n]*[\w.-]{2,32}[^\S\n]*(?:/|，|,|、|\s|：|:)[^\S\n]*(?:密码|key)?(?:是|：|:)?[^\S\n]*([!-~]{8,})`+zhEnd, "无线", "wifi", "wi-fi", "热点").in(1, farPassword),
	}
}

// otherRules know passwords that are named in other tongues, in two at once, behind them,
// or as tools have it.
func otherRules() []secretRule {
	const (
		names   = `(?:пароль|パスワード|비밀번호|비번|mot de passe|passwort|kennwort|contraseña|contrasena|senha|wachtwoord)`
		between = `\s+(?:от|для|du|de|del|da|für|vom|zum|van|para)\s+\S+\s+`
		joint   = `[^!-~\n]{0,12}?(?:は|が|은|는|이|это|—)|\s*(?:est|ist|lautet|es|é|is)\s|\s*[:=：—–-]`
		opened  = `\s*` + quotes + `([!-~]{4,})`
	)
	otherNames := []string{"пароль", "Пароль", "ПАРОЛЬ", "パスワード", "비밀번호", "비번", "mot de passe", "passwort", "kennwort", "contrase", "senha", "wachtwoord"}
	return []secretRule{
		shape("password", `(?i)`+names+`(?:`+between+`)?(?:`+joint+`)?`+opened, otherNames...).in(1, farPassword),
		shape("password", `(?i)`+names+between+`(?:\S+\s+){0,2}?(?:`+joint+`)`+opened, otherNames...).in(1, farPassword),
		shape("password", `(?i)`+enSure+`\s*(\p{Han}[^!-~\n。！？；]{0,13}?)[^\S\n]*["'“‘「(（]{0,2}([!-~]{5,})`+zhEnd, sureWords...).in(2, farPassword).unlessHas(1, notGiven...),
		shape("password", `(?i)([!-~]{5,64}?)["'”’]?\s*[(（](?:that is |that's |that’s |it is |it's )?(?:the|our|my|new|wifi|[^!-~\n()（）]{0,6})\s*(?:[\w-]+\s+){0,2}?(?:`+enSure+`|`+zhNames+`)[)）]`, append(slices.Clone(sureWords), zhWords...)...).behind(100).through(namesBefore).in(1, farPassword),
		shape("password", `(?i)psk["']?\s*[:=]\s*["']?([!-~]{8,})`, "psk").in(1, givenPassword),
		shape("command-password", `(?i)(?:sqlplus|sqlldr|rman|expdp|impdp)\s+(?:-\S+\s+)*(?:userid=)?["']?[\w.$#]+/([^\s"'/]{3,}?)(?:@[\w.:/-]+)?(?:["'\s]|$)`, "sqlplus", "sqlldr", "rman", "expdp", "impdp").in(1, notPlaceholder),
	}
}

// notGiven are the words between 密码 and what follows that tell it is no password.
var notGiven = []string{"忘", "错", "吗", "什么", "怎么", "谁", "没", "不", "别", "长度", "至少", "位数", "强度", "策略", "管理", "学", "框", "输入", "本", "登录用", "算法", "加密", "存"}

// pairRule knows a password behind the name of an account and a slash.
func pairRule() secretRule {
	return shape("login", `(?i)(?:^|[^\w./@-])(?:root|admin|administrator|ubuntu|debian|centos|ec2-user|deploy|oracle|postgres|mysql|sa|pi|dev|ops|guest)\s*/\s*([!-~]{6,})`+zhEnd, "root", "admin", "administrator", "ubuntu", "debian", "centos", "ec2-user", "deploy", "oracle", "postgres", "mysql", "sa", "pi", "dev", "ops", "guest").behind(4).in(1, pairPassword)
}

// pairPassword tells a password behind an account and a slash from a path or a package: it
// has letters, digits and a mark.
func pairPassword(value string) bool {
	return farPassword(value) && hasDigit(value) && strings.ContainsAny(value, "@#$!^&*") && !strings.ContainsAny(value, "?=") && !packageVersion.MatchString(value) && len(FindPII(value)) == 0
}

var packageVersion = lazyregexp.New(`^[a-z][a-z0-9._-]*@[v^~]?(?:[0-9]{1,2}|[0-9]+(?:\.[0-9A-Za-z-]+)+)$`)

// codeWordRules know codes of digits: those that come once, PINs, and those of doors.
func codeWordRules() []secretRule {
	const (
		sixish = `([0-9]{4,8}|[0-9]{3}[ -][0-9]{3})(?:[^0-9!-~年月日位个次元块分秒]|[.,!?;)"']|$)`
		once   = `(?:otp|(?:verification|security|confirmation|authentication|auth|login|sign-?in|one[- ]time|2fa|mfa|two[- ]factor|access|activation|sms|unlock|recovery|backup) (?:pass)?codes?|passcode|auth code)`
		doors  = `(?:door|gate|garage|alarm|lock ?box|entry|entrance|keypad|building|safe|locker|vault|elevator|gym|key ?box|lock|unlock|access|office|room|front door|back door|apartment)`
	)
	return []secretRule{
		shape("one-time-code", `(?i)`+once+`(?:\s+(?:for|to|from|of)\s+(?:\S+\s+){1,3}?)?(?:`+enIs+`|\s+)`+sixish, "otp", "verification", "security", "confirmation", "authentication", "auth", "login", "sign-in", "signin", "one-time", "one time", "2fa", "mfa", "two-factor", "two factor", "access", "activation", "sms", "unlock", "recovery", "backup", "passcode").in(1, code),
		shape("one-time-code", `(?i)\b(?:[A-Z]{1,3}-)?([0-9]{4,8}|[0-9]{3}[ -][0-9]{3})\s+(?:is|as)\s+(?:your|my|the)\s+(?:\S+\s+){0,3}?(?:code|otp|pin|passcode)\b`, "code", "otp", "pin", "passcode").behind(70).through(namesBefore).in(1, nil),
		shape("one-time-code", `(?:验证码|驗證碼|动态码|動態碼|校验码|校驗碼|动态口令|确认码|激活码|短信码|授权码|安全码)(?:[^\S\n]*[(（][^)）\n]{0,12}[)）])?(?:`+zhIs+`|[^\S\n]*(?:发你|给你|来了|收到了)?[^\S\n]*[:：]?[^\S\n]*["'“「【\[]?)([0-9]{4,8}|[0-9]{3}[ -][0-9]{3}|[A-Z0-9]{6})`+zhEnd,
			"验证码", "驗證碼", "动态码", "動態碼", "校验码", "校驗碼", "动态口令", "确认码", "激活码", "短信码", "授权码", "安全码").in(1, hasDigit),
		shape("one-time-code", `\b([0-9]{4,8})[^\S\n]*(?:[(（【]|是|为|就是)[^!-~\n，。]{0,10}(?:验证码|驗證碼|动态码|校验码)`, "验证码", "驗證碼", "动态码", "校验码").behind(60).through(namesBefore).in(1, nil),
		shape("pin", `(?i)pin(?:\s*(?:code|number|no\.?|#))?(?:\s+(?:for|to|of|on)\s+(?:\S+\s+){1,4}?)?(?:`+enIs+`|\s+|\s*#)`+sixish, "pin").in(1, code),
		shape("pin", `(?i)(?:pin码|pin碼|PIN码|锁屏码|解锁码|开机码|取款码|开锁码|门禁码|门禁|门锁码|门锁|大门|单元门|楼下门|保险柜|保险箱|密码锁|密码箱|柜子码|储物柜)[^!-~\n。！？]{0,6}?(?:密码)?(?:`+zhIs+`|[^\S\n]*)([0-9]{3,8}[#*]?)`+zhEnd,
			"pin码", "pin碼", "锁屏码", "解锁码", "开机码", "取款码", "开锁码", "门禁", "门锁", "大门", "单元门", "楼下门", "保险柜", "保险箱", "密码锁", "密码箱", "柜子码", "储物柜").in(1, doorCode),
		shape("door-code", `(?i)`+doors+`\s+(?:pass)?(?:code|combo|combination|pin)(?:\s+(?:for|to|of|at|on)\s+(?:\S+\s+){1,4}?)?(?:`+enIs+`|\s+)#?([0-9]{3,8}[#*]?|[0-9]{1,2}(?:-[0-9]{1,2}){2,3})(?:[^0-9A-Za-z-]|$)`,
			"door", "gate", "garage", "alarm", "lockbox", "lock box", "entry", "entrance", "keypad", "building", "safe", "locker", "vault", "elevator", "gym", "keybox", "key box", "lock", "unlock", "access", "office", "room", "front", "back", "apartment").in(1, code),
		shape("door-code", `(?i)`+doors+`\s+(?:opens?|unlocks?)\s+(?:with|by|on)\s+#?([0-9]{3,8}[#*]?)(?:[^0-9A-Za-z-]|$)`, "door", "gate", "garage", "lockbox", "lock box", "entry", "entrance", "building", "safe", "locker", "vault", "elevator", "gym", "keybox", "key box", "lock", "office", "room", "front", "back", "apartment").in(1, doorCode),
		shape("door-code", `(?i)(?:code|combo|combination)\s+(?:for|to|of|on|at)\s+(?:the\s+|our\s+|my\s+)?(?:\S+\s+){0,2}?`+doors+`\s*(?:door|code)?`+enIs+`#?([0-9]{3,8}[#*]?|[0-9]{1,2}(?:-[0-9]{1,2}){2,3})(?:[^0-9A-Za-z-]|$)`, "code", "combo", "combination").in(1, code),
		shape("card-code", `(?i)(?:cvv2?|cvc2?|cvn2?|card security code|security code on the back|卡背面三位|背面三位|安全码|校验码)\W{0,4}(?:code)?\W{0,4}(?:is|was|are|是|为)?\W{0,4}([0-9]{3,4})\b`, "cvv", "cvc", "cvn", "card security", "security code on", "卡背面", "背面三位", "安全码", "校验码").in(1, nil),
		shape("backup-codes", `(?i)(?:backup|recovery|scratch) codes?(?:\s+(?:for|of)\s+\S+)?`+enIs+`((?:[a-z0-9]{4,6}[- ]?[a-z0-9]{4,6}[,;\s]*){1,12})`, "backup", "recovery", "scratch").in(1, hasDigit),
		shape("passport", `(?i)(?:passport|护照|護照|通行证|回乡证)(?:\s*(?:号码|号|號碼|number|no\.?|num|#))?(?:`+enIs+`|`+zhIs+`|[^\S\n]*)([A-Z]{1,2}[0-9]{7,9}|[0-9]{9}|[A-Z][0-9]{8})(?:[^0-9A-Za-z]|$)`, "passport", "护照", "護照", "通行证", "回乡证").in(1, nil),
		shape("national-id", `(?:身份证|身分證|證件|证件)[^!-~\n]{0,8}[:： ]?[^\S\n]*([0-9]{15}|[0-9]{17}[0-9Xx])(?:[^0-9A-Za-z]|$)`, "身份证", "身分證", "證件", "证件").in(1, nil),
		shape("ssn", `(?i)(?:ssn|social security(?: number| no\.?| #)?)(?:`+enIs+`|\s+|#)([0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4})(?:[^0-9]|$)`, "ssn", "social security").in(1, nil),
	}
}

func hasDigit(value string) bool {
	for i := range len(value) {
		if charClass(value[i]) == digitClass {
			return true
		}
	}
	return false
}

// doorCode tells the code of a lock from a number of doors.
func doorCode(value string) bool { return len(value) >= 4 || value[len(value)-1] == '#' }

// keyWordRules know keys by what they are called.
func keyWordRules() []secretRule {
	const (
		enKeys = `(?:(?:api|secret|access|auth|app|signing|encryption|private|master|license|webhook|service|account|admin|deploy|ssh|bot|refresh|id|personal access|session|bearer|integration|write|read|license|serial)[ _-]?(?:key|token|secret)|client[ _-]?secret|app ?secret|app ?key|corp ?secret|secret ?id|secret ?key|access ?key ?(?:id|secret)?|encodingaeskey|aes ?key|token|secret|ak|sk|key)`
		zhKeys = `(?:密钥|密鑰|秘钥|秘鑰|金鑰|私钥|私鑰|令牌|凭证|凭据|授权码|序列号|激活码|token|Token|TOKEN|key|Key|KEY|secret|Secret|AppSecret|appsecret|sk|SK|ak|AK)`
		long   = `([A-Za-z0-9+/_.~=-]{16,})`
	)
	words := []string{"api key", "api_key", "api-key", "apikey", "secret", "access", "client secret", "client_secret", "client-secret", "clientsecret", "token", "key", "app", "corpsecret", "encodingaeskey", "aes", "ak", "sk", "signing", "encryption", "private", "master", "license", "webhook", "service", "account", "admin", "deploy", "ssh", "bot", "refresh", "personal access", "session", "auth", "integration", "api token", "api_token", "api secret"}
	zhWords := []string{"密钥", "密鑰", "秘钥", "秘鑰", "金鑰", "私钥", "私鑰", "令牌", "凭证", "凭据", "授权码", "序列号", "激活码", "token", "key", "secret", "appsecret", "sk", "ak"}
	return []secretRule{
		shape("wallet-key", `(?i)(?:private ?key|priv ?key|wallet(?: key)?|secret ?key|私钥|私鑰|钱包)(?:[^\n!-~]|[a-z:=' "]){0,24}?\b((?:0x)?[0-9a-f]{64})(?:[^0-9A-Za-z]|$)`, "private", "priv", "wallet", "secret", "私钥", "私鑰", "钱包").in(1, nil),
		shape("wallet-key", `(?:xprv|yprv|zprv|tprv)[1-9A-HJ-NP-Za-km-z]{90,}`, "xprv", "yprv", "zprv", "tprv"),
		shape("seed-phrase", `(?:助记词|助記詞|恢复词|注记词)[^\S\n]*(?:是|：|:|为)?[^\S\n]*((?:\p{Han}[ \t，,、]+){11,23}\p{Han})`, "助记词", "助記詞", "恢复词", "注记词").in(1, nil).through(nil),
		shape("api-key", `(?i)`+enKeys+`["']?(?:\s+(?:for|of|to|on)\s+(?:\S+\s+){0,3}?\S+)?`+enIs+`([!-~]{12,})`, words...).in(1, spokenToken).within(),
		shape("api-key", zhKeys+`(?:[^\S\n]*[(（][^)）\n]{0,12}[)）])?`+zhIs+`([!-~]{12,})`, zhWords...).in(1, spokenToken),
		shape("api-key", `(?i)`+enKeys+`["']?(?:[ \t]+[a-z'.]{1,14}){0,4}[\s:=,，：]+["'“‘(（`+"`"+`]?`+long, words...).in(1, looseToken),
		shape("api-key", `(?:`+zhKeys+`[^!-~\n。！？]{1,12}|`+zhKeys+`\s*[:=]\s*|(?:密钥|密鑰|秘钥|秘鑰|金鑰|私钥|私鑰|令牌|凭证|凭据))[\s:：=]*["'“‘「(（`+"`"+`]?`+long, zhWords...).in(1, looseToken),
		shape("api-key", `(?i)`+long+`["'”’`+"`"+`]?[^\S\n]*(?:,?\s*(?:is|as|=)\s+(?:the|my|our|your)\s+(?:[\w-]+\s+){0,3}?(?:key|token|secret)\b|(?:就?是|作为|当)[^!-~\n，。]{0,8}(?:密钥|秘钥|令牌|token|key|私钥))`, "key", "token", "secret", "密钥", "秘钥", "令牌", "私钥").behind(160).through(namesBefore).in(1, looseToken),
		shape("uuid-key", `(?i)(?:api[ _-]?(?:key|token)|secret(?:[ _-]?key)?|access[ _-]?(?:key|token)|auth[ _-]?token|private[ _-]?key|client[ _-]?secret|密钥|秘钥|令牌|heroku)[^0-9\n]{0,24}?\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:[^0-9A-Za-z-]|$)`,
			"api key", "api_key", "api-key", "apikey", "api token", "api_token", "secret", "access", "auth", "private", "client", "密钥", "秘钥", "令牌", "heroku").in(1, nil),
	}
}
