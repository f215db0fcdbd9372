package safety

import (
	"encoding/base64"
	"strings"

	"reverie/internal/lazyregexp"
)

// containerRules know secrets by what stands around them: addresses, files, command lines.
func containerRules() []secretRule {
	rules := addressRules()
	rules = append(rules, blockRules()...)
	return append(rules, commandRules()...)
}

// addressRules know what is secret in an address.
func addressRules() []secretRule {
	return []secretRule{
		shape("slack-webhook", `hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}`, "hooks.slack"),
		shape("discord-webhook", `(?i)discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{15,22}/[a-z0-9_-]{50,}`, "discord.com/api", "discordapp.com/api"),
		shape("teams-webhook", `(?i)webhook\.office\.com/webhookb2/[a-z0-9@/_-]{40,}`, "webhook.office.com"),
		shape("wecom-webhook", `qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=([0-9A-Za-z-]{16,})`, "qyapi.weixin").in(1, nil),
		shape("dingtalk-webhook", `oapi\.dingtalk\.com/robot/send\?access_token=([0-9A-Za-z]{16,})`, "oapi.dingtalk").in(1, nil),
		shape("dingtalk-secret", `SEC[0-9a-f]{64}\b`, "sec"),
		shape("feishu-webhook", `open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/([0-9A-Za-z-]{16,})`, "open.feishu", "open.larksuite").in(1, nil),
		shape("webhook", `(?i)(?:hooks\.zapier\.com/hooks/catch/[0-9]+/[a-z0-9]{6,}|maker\.ifttt\.com/trigger/[^\s/]+/(?:json/)?with/key/[\w-]{16,}|sctapi\.ftqq\.com/[a-z0-9]{16,}|api\.day\.app/[a-z0-9]{16,})`,
			"hooks.zapier", "maker.ifttt", "sctapi.ftqq", "api.day.app"),
		shape("otpauth", `(?i)otpauth(?:-migration)?://[^\s"']*?(?:secret|data)=([A-Za-z0-9%+/=]{8,})`, "otpauth").in(1, nil),
		shape("wifi-password", `(?i)WIFI:(?:[A-Z]:[^;\n]*;)*?P:([^;\n]{3,});`, "wifi:").in(1, nil),
		shape("url-password", `(?i)://[^\s:/?#@]*:([^\s/]+)@[a-z0-9\[]`, "://").in(1, notPlaceholder),
		shape("url-password", `(?i)://[^\s:/?#@]*:([^\s:/@]*/[^\s:@]{0,60})@[a-z0-9\[]`, "://").in(1, func(value string) bool { return !portAndPath.MatchString(value) }),
		shape("url-token", `://([A-Za-z0-9_-]{20,})@[a-z0-9]`, "://").in(1, mixed),
		shape("share-code", `(?i)pan\.(?:baidu|quark)\.c(?:om|n)/s/[\w?=-]*?\?pwd=([a-z0-9]{4})\b`, "pan.baidu", "pan.quark").in(1, nil),
		shape("url-token", `(?i)(?:access_?token|api_?key|auth_?token|token|key|secret|signature|sign|auth|x-amz-signature|x-goog-signature|ticket|sessionid|session_key)=([A-Za-z0-9%+/=_.~-]{16,})`,
			"access_token=", "accesstoken=", "api_key=", "apikey=", "auth_token=", "authtoken=", "token=", "key=", "secret=", "signature=", "sign=", "auth=", "ticket=", "sessionid=", "session_key=").in(1, random),
	}
}

// portAndPath is what stands behind a host rather than an account.
var portAndPath = lazyregexp.New(`^[0-9]{0,5}/`)

// blockRules know what files and headers hold.
func blockRules() []secretRule {
	return []secretRule{
		shape("private-key", `-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|$)`, "-----begin "),
		shape("private-key", `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?s:.*?)(?:---- END SSH2 ENCRYPTED PRIVATE KEY ----|$)`, "---- begin ssh2"),
		shape("private-key", `PuTTY-User-Key-File-[0-9]:(?s:.*?)(?:Private-MAC: ?[0-9a-f]*|$)`, "putty-user-key-file-"),
		shape("private-key", `<RSAKeyValue>(?s:.*?)(?:</RSAKeyValue>|$)`, "<rsakeyvalue>"),
		shape("bearer-token", `(?i)bearer[\s:]+["']?([A-Za-z0-9._~+/-]{16,}=*)`, "bearer").in(1, mixed),
		shape("basic-auth", `(?i)basic\s+([A-Za-z0-9+/]{8,}={0,2})`, "basic").in(1, credentials),
		shape("cookie", `(?i)(?:sessionid|session_id|session|phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|sid|sess|sessdata|bili_jct|csrftoken|xsrf-token|remember_token|auth_session|laravel_session|_gitlab_session|user_session|ptoken|wt2|z_c0|web_session)["']?\s*[=：:]\s*["']?([A-Za-z0-9%._~+/|-]{16,}=*)`,
			"session", "phpsessid", "jsessionid", "asp.net_sess", "connect.sid", "sid", "sess", "bili_jct", "csrftoken", "xsrf-token", "remember_token", "auth_session", "laravel_sess", "_gitlab_sess", "user_session", "ptoken", "wt2", "z_c0", "web_session").in(1, mixed),
		shape("cookie", `(?i)(?:set-)?cookie["']?\s*[:：]\s*["']?[\w.-]{1,40}=([^\s;,"']{16,})`, "cookie", "set-cookie").in(1, mixed),
		shape("password", `(?i)<(?:password|passwd|pwd|secret|token)>([^<\s]{4,})</`, "<password>", "<passwd>", "<pwd>", "<secret>", "<token>").in(1, notPlaceholder),
	}
}

// credentials tells the base64 of a name, a colon and a password from a word after basic.
func credentials(value string) bool {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		plain, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	}
	if err != nil || !strings.Contains(string(plain), ":") {
		return false
	}
	for _, c := range plain {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return true
}

// commandRules know passwords on command lines.
func commandRules() []secretRule {
	return []secretRule{
		shape("command-password", `(?i)(?:curl|wget|http|xh)\s[^\n]{0,200}?(?:-u|--user|-a|--auth)[ =]?["']?[^\s:"']{1,64}:([^\s"']{3,})`, "curl", "wget", "http").in(1, notPlaceholder),
		shape("command-password", `(?:mysql|mysqldump|mysqladmin|mariadb|mongo|mongosh|mongodump|sqlcmd|clickhouse-client)\s[^\n]{0,160}?\s(?:-[pP] ?|--password[= ])["']?([^\s"'-][^\s"']{2,})`,
			"mysql", "mariadb", "mongo", "sqlcmd", "clickhouse-client").in(1, commandPassword),
		shape("command-password", `sshpass\s+-p\s*["']?([^\s"']{3,})`, "sshpass").in(1, notPlaceholder),
		shape("command-password", `redis-cli\s[^\n]{0,120}?(?:-a|--pass)\s+["']?([^\s"']{3,})`, "redis-cli").in(1, notPlaceholder),
		shape("command-password", `(?:docker|podman|helm registry|az|oc|cf|npm|skopeo|nerdctl) login\s[^\n]{0,160}?(?:-p|--password)[ =]["']?([^\s"']{3,})`, "docker login", "podman login", "helm registry login", "az login", "oc login", "cf login", "skopeo login").in(1, commandPassword),
		shape("command-password", `smbclient\s[^\n]{0,120}?-U\s+["']?[^\s%]+%([^\s"']{3,})`, "smbclient").in(1, notPlaceholder),
		shape("command-password", `(?i)pass:([^\s"']{4,})`, "pass:").in(1, spokenPassword),
		shape("command-password", `(?i)--?(?:password|passwd|pass|pwd|token|api-?key|secret|passphrase|requirepass|http-password)[ =]["']?([^\s"'$<-][^\s"']{3,})`,
			"--password", "--passwd", "--pass", "--pwd", "--token", "--api-key", "--apikey", "--secret", "--passphrase", "--requirepass", "--http-password").in(1, spokenPassword),
		shape("command-password", `(?i)net use\s[^\n]{0,100}?/user:\S+\s+([^\s/]{4,})`, "net use").in(1, notPlaceholder),
		shape("command-password", `(?i)echo\s+["']?([^\s"'|]{4,})["']?\s*\|\s*(?:sudo\s+-S|passwd|chpasswd)`, "echo").in(1, notPlaceholder),
		shape("command-password", `(?i)machine\s+\S+\s+login\s+\S+\s+password\s+(\S+)`, "machine").in(1, notPlaceholder),
		shape("npm-token", `_(?:authToken|auth|password)\s*=\s*["']?([^\s"'$]{8,})`, "_authtoken", "_auth", "_password").in(1, mixed),
	}
}

// commandPassword refuses ports, paths and variables behind -p.
func commandPassword(value string) bool {
	return notPlaceholder(value) && !strings.ContainsAny(value[:1], "/.-") && (len(value) > 5 || strings.Trim(value, "0123456789") != "")
}
