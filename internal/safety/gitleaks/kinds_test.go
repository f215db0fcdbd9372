package gitleaks

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// planted is a chat line with a secret in it.
type planted struct{ line, secret string }

// kind makes secrets of one sort, and the lines that they stand in.
type kind struct {
	name string
	make func(g *gen) string
	// lines are what stands around, %s is the secret; none: those of any token.
	lines []string
}

// gen draws what secrets are made of.
type gen struct{ *rand.Rand }

const (
	lowerSet = "abcdefghijklmnopqrstuvwxyz"
	upperSet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digitSet = "0123456789"
	hexSet   = "0123456789abcdef"
	alnumSet = lowerSet + upperSet + digitSet
	urlSet   = alnumSet + "-_"
	b64Set   = alnumSet + "+/"
	b58Set   = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
)

func (g *gen) of(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[g.IntN(len(set))]
	}
	return string(b)
}

func (g *gen) hex(n int) string    { return g.of(hexSet, n) }
func (g *gen) alnum(n int) string  { return g.of(alnumSet, n) }
func (g *gen) url(n int) string    { return g.of(urlSet, n) }
func (g *gen) digits(n int) string { return g.of(digitSet, n) }
func (g *gen) uuid() string {
	return g.hex(8) + "-" + g.hex(4) + "-4" + g.hex(3) + "-a" + g.hex(3) + "-" + g.hex(12)
}
func (g *gen) pick(list ...string) string { return list[g.IntN(len(list))] }

// password is one as people make them.
func (g *gen) password() string {
	word := g.pick("sunny", "Dragon", "hunter", "Monkey", "tiger", "xiaoming", "woaini", "Beijing", "qwerty", "Coffee", "shadow", "P@ss", "Tr0ub4dor", "letme", "zhangwei", "baobao")
	switch g.IntN(6) {
	case 0:
		return word + g.digits(2+g.IntN(4))
	case 1:
		return word + g.pick("@", "#", "_", "!") + g.digits(3+g.IntN(2))
	case 2:
		return g.alnum(7) + g.digits(1) + g.of(lowerSet, 2)
	case 3:
		return g.digits(1) + g.of(upperSet, 2) + g.of(lowerSet, 4) + g.pick("$", "%", "&", "*") + g.digits(2)
	case 4:
		return strings.ToUpper(word[:1]) + word[1:] + g.pick("2019", "2023", "1988", "123", "520", "666") + g.pick("", "!", "x")
	}
	return g.of(lowerSet, 3) + g.digits(5)
}

func (g *gen) luhn(prefix string, n int) string {
	body := prefix + g.digits(n-1-len(prefix))
	sum := 0
	for i := range len(body) {
		d := int(body[len(body)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return body + fmt.Sprint((10-sum%10)%10)
}

func (g *gen) group4(s, sep string) string {
	var parts []string
	for len(s) > 4 {
		parts, s = append(parts, s[:4]), s[4:]
	}
	return strings.Join(append(parts, s), sep)
}

func (g *gen) resident() string {
	n := g.pick("110101", "310115", "440305", "330106", "510107", "420111") + fmt.Sprintf("%04d%02d%02d", 1950+g.IntN(60), 1+g.IntN(12), 1+g.IntN(28)) + g.digits(3)
	sum := 0
	for j, w := range []int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2} {
		sum += int(n[j]-'0') * w
	}
	return n + "10X98765432"[sum%11:sum%11+1]
}

func (g *gen) iban() string {
	c := g.pick("DE18", "FR23", "GB18", "NL14", "ES20", "IT23", "CH17")
	country, body := c[:2], g.digits(map[string]int{"DE": 18, "FR": 23, "GB": 14, "NL": 10, "ES": 20, "IT": 22, "CH": 17}[c[:2]])
	switch country {
	case "GB":
		body = "NWBK" + body
	case "NL":
		body = "ABNA" + body
	case "IT":
		body = "X" + body
	}
	rest := 0
	for _, ch := range []byte(body + country + "00") {
		if ch >= 'A' {
			rest = (rest*100 + int(ch-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(ch-'0')) % 97
		}
	}
	return fmt.Sprintf("%s%02d%s", country, 98-rest, body)
}

func (g *gen) pem(kind string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-----BEGIN %s-----\n", kind)
	for range 4 {
		b.WriteString(g.of(b64Set, 64) + "\n")
	}
	fmt.Fprintf(&b, "-----END %s-----", kind)
	return b.String()
}

func (g *gen) seed(n int) string {
	text, err := os.ReadFile("../seedwords.txt")
	if err != nil {
		panic(err)
	}
	words := strings.Fields(strings.SplitN(string(text), "\n", 2)[1])
	list := make([]string, n)
	for i := range list {
		list[i] = words[g.IntN(len(words))]
	}
	return strings.Join(list, " ")
}

func (g *gen) wide(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 0x20 && r < 0x7f {
			return r + 0xFEE0
		}
		return r
	}, s)
}

func (g *gen) jwt() string {
	enc := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return enc(`{"alg":"HS256","typ":"JWT"}`) + "." + enc(fmt.Sprintf(`{"sub":"%s","iat":%s}`, g.digits(8), g.digits(10))) + "." + g.url(43)
}

// Any token may stand in these lines.
var tokenLines = []string{
	"%s", "here you go: %s", "use %s for now, I'll rotate it tomorrow", "can someone check if %s still works?", "the new one is %s.",
	"export MY_TOKEN=%s", "\"apiKey\": \"%s\",", "I accidentally committed `%s` :(", "(%s)", "@bob %s, don't share it",
	"新的是%s，别外传", "用这个：%s", "谁的 key 啊 %s 放群里了", "服务器上配的是%s。", "「%s」这个还能用吗", "配置里写 token: %s 就行", "发你了 %s 记得删", "昨天给的%s过期没",
}

// Keys without a shape of their own are named.
func named(names ...string) (lines []string) {
	for _, n := range names {
		lines = append(lines, n+" api key: %s", n+" token is %s", n+"的密钥是%s", "my "+n+" key is %s", strings.ToUpper(n)+"_API_KEY=%s", n+" 的 token：%s，先用着", "the "+n+" secret: %s", n+" key 给你 %s", "here's the "+n+" api key %s")
	}
	return lines
}

func tokenKinds() []kind {
	k := func(name string, make func(g *gen) string, lines ...string) kind { return kind{name, make, lines} }
	return []kind{
		k("aws-access-key-id", func(g *gen) string { return g.pick("AKIA", "ASIA") + g.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) }),
		k("aws-secret-key", func(g *gen) string { return g.of(b64Set, 40) }, "aws_secret_access_key = %s", "AWS_SECRET_ACCESS_KEY=%s", "aws secret key is %s", "aws 的 secret access key 是 %s", "SecretAccessKey: %s", "AWS secret：%s"),
		k("gcp-api-key", func(g *gen) string { return "AIza" + g.url(35) }),
		k("gcp-oauth-secret", func(g *gen) string { return "GOCSPX-" + g.url(28) }),
		k("google-oauth-token", func(g *gen) string { return "ya29." + g.url(60) }),
		k("azure-storage-key", func(g *gen) string { return g.of(b64Set, 86) + "==" }, "DefaultEndpointsProtocol=https;AccountName=prod;AccountKey=%s;EndpointSuffix=core.windows.net", "azure storage key: %s", "AccountKey=%s", "存储账户的密钥是 %s"),
		k("azure-servicebus", func(g *gen) string { return g.of(b64Set, 43) + "=" }, "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=%s"),
		k("azure-sas", func(g *gen) string { return g.alnum(40) + "%3D" }, "https://prod.blob.core.windows.net/c/f.zip?sv=2022-11-02&ss=b&se=2025-01-01&sr=b&sp=r&sig=%s", "下载 https://a.blob.core.windows.net/x?sv=2021-06-08&sig=%s"),
		k("azure-client-secret", func(g *gen) string { return g.alnum(3) + "8Q~" + g.url(34) }),
		k("alibaba-key", func(g *gen) string { return "LTAI" + g.alnum(20) }),
		k("alibaba-secret", func(g *gen) string { return g.alnum(30) }, "AccessKeySecret: %s", "阿里云 AccessKey Secret 是 %s", "aliyun secret=%s", "accessKeySecret=%s"),
		k("tencent-id", func(g *gen) string { return "AKID" + g.alnum(32) }),
		k("tencent-secret", func(g *gen) string { return g.alnum(32) }, "SecretKey: %s", "腾讯云 SecretKey 是 %s", "secretKey=%s", "腾讯云密钥 %s"),
		k("huawei-ak-sk", func(g *gen) string { return g.alnum(40) }, "华为云 SK: %s", "AK/SK 发你，SK=%s", "HUAWEI_SK=%s"),
		k("github-classic", func(g *gen) string { return g.pick("ghp_", "gho_", "ghu_", "ghs_", "ghr_") + g.alnum(36) }),
		k("github-fine", func(g *gen) string { return "github_pat_" + g.alnum(22) + "_" + g.alnum(59) }),
		k("gitlab-pat", func(g *gen) string { return "glpat-" + g.url(20) }),
		k("bitbucket", func(g *gen) string { return "ATBB" + g.alnum(32) }),
		k("atlassian", func(g *gen) string { return "ATATT3xFfGF0" + g.url(160) }),
		k("npm", func(g *gen) string { return "npm_" + g.alnum(36) }),
		k("pypi", func(g *gen) string { return "pypi-AgEIcHlwaS5vcmc" + g.url(140) }),
		k("dockerhub", func(g *gen) string { return "dckr_pat_" + g.url(27) }),
		k("crates", func(g *gen) string { return "cio" + g.alnum(32) }),
		k("rubygems", func(g *gen) string { return "rubygems_" + g.hex(48) }),
		k("huggingface", func(g *gen) string { return "hf_" + g.of(lowerSet+upperSet, 34) }),
		k("openai", func(g *gen) string { return g.pick("sk-", "sk-proj-", "sk-svcacct-") + g.alnum(48) }),
		k("anthropic", func(g *gen) string { return "sk-ant-api03-" + g.url(93) + "AA" }),
		k("groq", func(g *gen) string { return "gsk_" + g.alnum(52) }),
		k("replicate", func(g *gen) string { return "r8_" + g.alnum(37) }),
		k("perplexity", func(g *gen) string { return "pplx-" + g.alnum(48) }),
		k("xai", func(g *gen) string { return "xai-" + g.alnum(80) }),
		k("deepseek", func(g *gen) string { return "sk-" + g.hex(32) }),
		k("cohere", func(g *gen) string { return g.alnum(40) }, named("cohere")...),
		k("zhipu", func(g *gen) string { return g.hex(32) + "." + g.alnum(16) }, named("智谱", "zhipu")...),
		k("slack-bot", func(g *gen) string { return "xoxb-" + g.digits(12) + "-" + g.digits(13) + "-" + g.alnum(24) }),
		k("slack-user", func(g *gen) string {
			return "xoxp-" + g.digits(12) + "-" + g.digits(12) + "-" + g.digits(12) + "-" + g.hex(32)
		}),
		k("slack-webhook", func(g *gen) string {
			return "hooks.slack.com/services/T" + g.of(upperSet+digitSet, 8) + "/B" + g.of(upperSet+digitSet, 10) + "/" + g.alnum(24)
		}),
		k("discord-bot", func(g *gen) string {
			return base64.RawStdEncoding.EncodeToString([]byte(g.of("123456789", 1)+g.digits(17))) + "." + g.url(6) + "." + g.url(38)
		}),
		k("discord-webhook", func(g *gen) string { return "discord.com/api/webhooks/" + g.digits(18) + "/" + g.url(68) }),
		k("telegram-bot", func(g *gen) string { return g.of("123456789", 1) + g.digits(9) + ":AA" + g.url(33) }),
		k("twilio-key", func(g *gen) string { return "SK" + g.hex(32) }),
		k("twilio-auth", func(g *gen) string { return g.hex(32) }, "TWILIO_AUTH_TOKEN=%s", "twilio auth token is %s", "twilio 的 auth token：%s"),
		k("sendgrid", func(g *gen) string { return "SG." + g.url(22) + "." + g.url(43) }),
		k("mailgun", func(g *gen) string { return "key-" + g.hex(32) }),
		k("mailchimp", func(g *gen) string { return g.hex(32) + "-us" + g.digits(1) }),
		k("stripe", func(g *gen) string { return g.pick("sk_live_", "rk_live_", "sk_test_") + g.alnum(24) }),
		k("square", func(g *gen) string { return "sq0atp-" + g.url(22) }),
		k("paypal-secret", func(g *gen) string { return "E" + g.url(79) }, "paypal client secret: %s", "PAYPAL_CLIENT_SECRET=%s", "paypal 的 secret 是 %s"),
		k("shopify", func(g *gen) string { return g.pick("shpat_", "shpss_") + g.hex(32) }),
		k("notion", func(g *gen) string { return g.pick("secret_"+g.alnum(43), "ntn_"+g.digits(11)+g.alnum(35)) }),
		k("linear", func(g *gen) string { return "lin_api_" + g.alnum(40) }),
		k("figma", func(g *gen) string { return "figd_" + g.url(40) }),
		k("dropbox", func(g *gen) string { return "sl." + g.pick("B", "u.A") + g.url(130) }),
		k("databricks", func(g *gen) string { return "dapi" + g.hex(32) }),
		k("snowflake", func(g *gen) string { return g.password() }, "snowflake://loader:%s@acme-eu1/DB/PUBLIC", "SNOWFLAKE_PASSWORD=%s"),
		k("datadog", func(g *gen) string { return g.pick(g.hex(32), g.hex(40)) }, named("datadog")...),
		k("newrelic", func(g *gen) string { return "NRAK-" + g.of(upperSet+digitSet, 27) }),
		k("grafana", func(g *gen) string { return "glsa_" + g.alnum(32) + "_" + g.hex(8) }),
		k("sentry-dsn", func(g *gen) string { return g.hex(32) }, "SENTRY_DSN=https://%s@o123456.ingest.sentry.io/4505", "dsn 是 https://%s@sentry.example.com/3"),
		k("sentry-token", func(g *gen) string { return "sntryu_" + g.hex(64) }),
		k("pagerduty", func(g *gen) string { return "u+" + g.alnum(18) }, "pagerduty api key: %s", "PAGERDUTY_TOKEN=%s"),
		k("vault", func(g *gen) string { return "hvs." + g.url(95) }),
		k("terraform", func(g *gen) string { return g.alnum(14) + ".atlasv1." + g.url(67) }),
		k("pulumi", func(g *gen) string { return "pul-" + g.hex(40) }),
		k("doppler", func(g *gen) string { return "dp.pt." + g.alnum(43) }),
		k("cloudflare", func(g *gen) string { return g.url(40) }, named("cloudflare")...),
		k("cloudflare-global", func(g *gen) string { return g.hex(37) }, "cloudflare global api key: %s", "CF_API_KEY=%s"),
		k("digitalocean", func(g *gen) string { return "dop_v1_" + g.hex(64) }),
		k("heroku", func(g *gen) string { return g.uuid() }, "HEROKU_API_KEY=%s", "heroku api key is %s", "heroku 的 key：%s"),
		k("heroku-v2", func(g *gen) string { return "HRKU-AA" + g.url(58) }),
		k("vercel", func(g *gen) string { return g.alnum(24) }, named("vercel")...),
		k("netlify", func(g *gen) string { return "nfp_" + g.alnum(36) }),
		k("fly", func(g *gen) string { return "fm2_" + g.of(b64Set, 120) }),
		k("supabase", func(g *gen) string { return "sbp_" + g.hex(40) }),
		k("planetscale", func(g *gen) string { return g.pick("pscale_tkn_", "pscale_pw_") + g.url(43) }),
		k("mongodb-atlas", func(g *gen) string { return g.uuid() }, "atlas private key: %s", "MongoDB Atlas 的私钥 private key 是 %s"),
		k("age", func(g *gen) string { return "AGE-SECRET-KEY-1" + g.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58) }),
		k("jwt", func(g *gen) string { return g.jwt() }),
		k("mapbox", func(g *gen) string { return "sk." + g.of(lowerSet+digitSet, 60) + "." + g.alnum(22) }, named("mapbox")...),
		k("postman", func(g *gen) string { return "PMAK-" + g.hex(24) + "-" + g.hex(34) }),
		k("dynatrace", func(g *gen) string {
			return "dt0c01." + g.of(upperSet+digitSet, 24) + "." + g.of(upperSet+digitSet, 64)
		}),
		k("facebook", func(g *gen) string { return "EAAG" + g.alnum(150) }),
		k("twitter-bearer", func(g *gen) string { return "AAAAAAAAAAAAAAAAAAAAAA" + g.alnum(80) }, named("twitter")...),
		k("asana", func(g *gen) string { return "1/" + g.digits(16) + ":" + g.hex(32) }, "asana token: %s", "ASANA_ACCESS_TOKEN=%s"),
		k("airtable", func(g *gen) string { return "pat" + g.alnum(14) + "." + g.hex(64) }),
		k("hubspot", func(g *gen) string { return "pat-na1-" + g.uuid() }),
		k("okta", func(g *gen) string { return "00" + g.url(40) }, named("okta")...),
		k("feishu-secret", func(g *gen) string { return g.alnum(32) }, "飞书 App Secret: %s", "app_secret=%s", "飞书的AppSecret是%s"),
		k("wechat-secret", func(g *gen) string { return g.hex(32) }, "AppSecret: %s", "小程序的AppSecret是%s，别发出去", "wx appsecret=%s", "公众号 secret %s"),
		k("wechat-pay", func(g *gen) string { return g.alnum(32) }, "微信支付商户密钥：%s", "APIv3密钥是%s", "微信支付 key %s"),
		k("alipay", func(g *gen) string { return "MIIEv" + g.of(b64Set, 200) }, "支付宝应用私钥：%s", "支付宝私钥是 %s"),
		k("wecom-corpsecret", func(g *gen) string { return g.url(43) }, "企业微信 corpsecret=%s", "corpsecret：%s"),
	}
}

func containerKinds() []kind {
	k := func(name string, make func(g *gen) string, lines ...string) kind { return kind{name, make, lines} }
	pem := []string{"%s", "私钥在这\n%s\n收好", "here is the key:\n%s\nthanks"}
	return []kind{
		k("pem-rsa", func(g *gen) string { return g.pem("RSA PRIVATE KEY") }, pem...), k("pem-ec", func(g *gen) string { return g.pem("EC PRIVATE KEY") }, pem...),
		k("pem-pkcs8", func(g *gen) string { return g.pem("PRIVATE KEY") }, pem...), k("pem-encrypted", func(g *gen) string { return g.pem("ENCRYPTED PRIVATE KEY") }, pem...),
		k("pem-openssh", func(g *gen) string { return g.pem("OPENSSH PRIVATE KEY") }, pem...), k("pem-pgp", func(g *gen) string { return g.pem("PGP PRIVATE KEY BLOCK") }, pem...),
		k("putty", func(g *gen) string {
			return "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 1\n" + g.of(b64Set, 64) + "\nPrivate-Lines: 1\n" + g.of(b64Set, 64) + "\nPrivate-MAC: " + g.hex(40)
		}, pem...),
		k("basic-auth", func(g *gen) string { return base64.StdEncoding.EncodeToString([]byte("admin:" + g.password())) }, "Authorization: Basic %s", "请求头加 Authorization: Basic %s", "-H 'Authorization: Basic %s'"),
		k("bearer", func(g *gen) string { return g.alnum(40) }, "Authorization: Bearer %s", "curl -H \"Authorization: Bearer %s\" https://api.example.com", "header 里放 Bearer %s 就行"),
		k("cookie", func(g *gen) string { return g.alnum(32) }, "Cookie: sessionid=%s", "PHPSESSID=%s; path=/", "JSESSIONID=%s", "cookie: session=%s; theme=dark", "SESSDATA=%s 填进去", "connect.sid=%s"),
		k("url-postgres", func(g *gen) string { return g.password() }, "postgres://app:%s@db.internal:5432/prod", "连接串 postgresql://root:%s@10.0.0.5/app 你试试"),
		k("url-mysql", func(g *gen) string { return g.password() }, "mysql://root:%s@127.0.0.1:3306/shop", "mysql+pymysql://u:%s@db/shop"),
		k("url-redis", func(g *gen) string { return g.password() }, "redis://:%s@cache:6379/0", "redis://default:%s@r.example.com:6380"),
		k("url-mongodb", func(g *gen) string { return g.password() }, "mongodb+srv://admin:%s@cluster0.ab1cd.mongodb.net/app", "mongodb://u:%s@h1,h2/db"),
		k("url-amqp", func(g *gen) string { return g.password() }, "amqp://guest:%s@rabbit:5672/", "amqps://u:%s@mq.example.com/v"),
		k("url-ftp", func(g *gen) string { return g.password() }, "ftp://upload:%s@files.example.com/in", "smtp://bot:%s@smtp.example.com:587", "https://user:%s@git.example.com/a.git"),
		k("conn-string", func(g *gen) string { return g.password() }, "Server=db;Database=shop;User Id=sa;Password=%s;", "Data Source=x;User ID=sa;Pwd=%s;", "host=db user=app password=%s dbname=x"),
		k("dotenv", func(g *gen) string { return g.password() }, "DB_PASSWORD=%s", "MYSQL_ROOT_PASSWORD: %s", "SMTP_PASS=%s", "ADMIN_PASSWORD=\"%s\"", "redis.password=%s", "spring.datasource.password: %s"),
		k("curl-user", func(g *gen) string { return g.password() }, "curl -u admin:%s https://api.example.com/v1", "curl https://x.example.com -u bob:%s", "试试 curl --user root:%s http://10.0.0.2"),
		k("mysql-p", func(g *gen) string { return g.password() }, "mysql -uroot -p%s shop", "mysqldump -h db -u root -p%s shop > a.sql", "连数据库用 mysql -h 10.0.0.3 -u root -p%s"),
		k("sshpass", func(g *gen) string { return g.password() }, "sshpass -p %s ssh root@10.0.0.9", "sshpass -p '%s' scp a b:"),
		k("docker-login", func(g *gen) string { return g.password() }, "docker login -u bob -p %s registry.example.com", "redis-cli -h cache -a %s ping", "PGPASSWORD=%s psql -h db -U app"),
		k("wecom-webhook", func(g *gen) string { return g.uuid() }, "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=%s", "机器人地址 https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=%s 发消息用这个"),
		k("dingtalk-webhook", func(g *gen) string { return g.hex(64) }, "https://oapi.dingtalk.com/robot/send?access_token=%s", "钉钉 https://oapi.dingtalk.com/robot/send?access_token=%s，加签"),
		k("dingtalk-secret", func(g *gen) string { return "SEC" + g.hex(64) }),
		k("feishu-webhook", func(g *gen) string { return g.uuid() }, "https://open.feishu.cn/open-apis/bot/v2/hook/%s", "飞书告警 https://open.feishu.cn/open-apis/bot/v2/hook/%s 配一下"),
		k("url-token", func(g *gen) string { return g.alnum(32) }, "https://api.example.com/v1/items?access_token=%s", "https://x.example.com/cb?token=%s&a=1", "https://maps.example.com/js?key=%s"),
		k("otpauth", func(g *gen) string { return g.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32) }, "otpauth://totp/Acme:bob?secret=%s&issuer=Acme"),
		k("wifi-qr", func(g *gen) string { return g.password() }, "WIFI:S:HomeNet;T:WPA;P:%s;;", "WIFI:T:WPA;S:Office;P:%s;H:false;;"),
		k("netrc", func(g *gen) string { return g.password() }, "machine git.example.com login bob password %s"),
		k("wallet-hex", func(g *gen) string { return g.hex(64) }, "private key: 0x%s", "钱包私钥 %s", "私钥是 %s 别弄丢", "my wallet private key is %s"),
		k("wallet-wif", func(g *gen) string { return g.pick("5", "K", "L") + g.of(b58Set, 50) }, "%s", "WIF: %s", "导入私钥 %s"),
		k("seed-12", func(g *gen) string { return g.seed(12) }, "%s", "my seed phrase: %s", "助记词：%s", "recovery phrase is %s, keep it"),
		k("seed-24", func(g *gen) string { return g.seed(24) }, "%s", "seed: %s", "助记词是 %s 抄下来"),
		k("card-plain", func(g *gen) string {
			return g.pick(g.luhn("4", 16), g.luhn("5"+g.of("12345", 1), 16), g.luhn("37", 15), g.luhn("6011", 16))
		}, "%s", "card number %s", "刷这张 %s", "my card is %s, exp 04/27", "卡号：%s，有效期09/26"),
		k("card-spaced", func(g *gen) string {
			return g.group4(g.pick(g.luhn("4", 16), g.luhn("52", 16), g.luhn("62", 16)), g.pick(" ", "-"))
		}, "%s", "card: %s", "卡号 %s", "转到 %s 这张卡"),
		k("card-unionpay", func(g *gen) string { return g.luhn(g.pick("62", "6222", "6217", "6228"), 19) }, "%s", "银行卡号：%s", "打款到%s，户名张三", "我的建行卡%s", "工资卡是 %s"),
		k("cvv", func(g *gen) string { return g.digits(3) }, "exp 04/27 cvv %s", "CVV: %s", "cvc is %s", "安全码 %s", "cvv是%s"),
		k("iban", func(g *gen) string { n := g.iban(); return g.pick(n, g.group4(n, " ")) }, "%s", "IBAN: %s", "please send it to %s, thanks", "汇款账号 %s"),
		k("ssn", func(g *gen) string {
			return fmt.Sprintf("%03d-%02d-%04d", 100+g.IntN(500), 1+g.IntN(98), 1+g.IntN(9998))
		}, "my ssn is %s", "SSN: %s", "%s is my social", "social security number %s"),
		k("resident-id", func(g *gen) string { return g.resident() }, "%s", "身份证号%s", "我的身份证是 %s", "身份证：%s，帮忙订票", "实名用%s"),
		k("resident-15", func(g *gen) string {
			return "110105" + fmt.Sprintf("%02d%02d%02d", 40+g.IntN(50), 1+g.IntN(12), 1+g.IntN(28)) + g.digits(3)
		}, "身份证号%s", "老身份证号码：%s"),
		k("passport", func(g *gen) string { return g.pick("E", "G", "EA", "EB") + g.digits(8) }, "passport number %s", "护照号：%s", "my passport no. is %s", "护照号码是%s", "passport: %s"),
	}
}

func spokenKinds() []kind {
	k := func(name string, make func(g *gen) string, lines ...string) kind { return kind{name, make, lines} }
	pw := func(g *gen) string { return g.password() }
	code6 := func(g *gen) string { return g.digits(6) }
	code4 := func(g *gen) string { return g.of("123456789", 1) + g.digits(3) }
	return []kind{
		k("zh-is", pw, "密码是%s", "密码是 %s，别告诉别人", "服务器密码是%s", "wifi密码是%s哦", "密码还是%s", "密码就是 %s 啊", "密码为%s", "登录密码：%s", "密码: %s", "密码 %s", "密码%s", "密码=%s", "开机密码是「%s」"),
		k("zh-changed", pw, "密码改成了%s", "密码我改成 %s 了", "密码换成%s了", "密码重置成%s，登上去自己改", "密码更新为 %s", "新密码%s", "密码变成%s了", "已经把密码设置为%s", "密码我设的是%s", "我把密码改回 %s 了"),
		k("zh-account", pw, "账号 admin 密码 %s", "账号：zhangsan 密码：%s", "账号test01，密码%s", "用户名root 口令%s", "用户名/口令 admin/%s", "账号密码 bob/%s", "账号密码是 bob %s", "账号密码：li.lei / %s", "帐号 guest 密码是%s", "后台账号admin，密码：%s"),
		k("zh-koulin", pw, "口令是%s", "口令：%s", "入群口令 %s", "数据库口令改为%s", "暗号是%s"),
		k("zh-wifi", pw, "WiFi密码%s", "无线密码是 %s", "家里wifi：TP-LINK 密码 %s", "办公室WiFi密码：%s", "wifi 名 MiHome 密码 %s", "无线网密码 %s"),
		k("zh-unzip", pw, "解压密码%s", "解压密码：%s", "解压密码是 %s", "压缩包密码 %s", "文件密码：%s"),
		k("zh-reverse", pw, "%s 是密码", "%s就是wifi密码", "用 %s 登录", "输入%s解锁", "%s 是新的登录密码"),
		k("zh-tell", pw, "密码给你：%s", "密码发你 %s", "密码记一下 %s", "这是密码 %s", "密码我告诉你吧，%s", "密码在这：%s", "密码（新）：%s", "密码(测试环境)：%s", "密码跟之前一样 %s"),
		k("zh-tradi", pw, "密碼是%s", "密碼：%s", "帳號 amy 密碼 %s", "新密碼改成%s了"),
		k("zh-digits", func(g *gen) string { return g.of("123456789", 1) + g.digits(g.pick2(5, 7)) }, "密码是%s", "密码%s", "WiFi密码：%s", "支付密码 %s", "锁屏密码%s", "会议密码：%s", "银行卡密码是%s", "取款密码%s", "会议号 812 345 678 会议密码 %s", "保险箱密码是%s", "密码 %s 别忘了"),
		k("zh-numerals", func(g *gen) string {
			return g.pick("八个8", "六个6", "六个零", "一二三四五六", "八八八八八八")
		}, "密码是%s", "密码%s", "wifi密码就是%s"),
		k("zh-share", func(g *gen) string { return g.of(lowerSet+digitSet, 4) }, "链接: https://pan.baidu.com/s/1aBcDeFgHiJk 提取码: %s", "提取码：%s", "提取码 %s", "提取码是%s", "https://pan.baidu.com/s/1xYz?pwd=%s"),
		k("zh-otp", code6, "验证码是%s", "验证码 %s", "验证码：%s，5分钟内有效", "【某银行】验证码%s，请勿泄露", "动态码%s", "您的验证码为 %s", "%s（验证码）", "校验码：%s", "短信验证码 %s 快填"),
		k("zh-door", code4, "门禁密码%s", "门锁密码是%s", "大门密码：%s#", "门禁码 %s", "楼下门禁%s#", "单元门密码%s", "保险箱密码 %s", "开门密码是%s", "储物柜密码%s"),
		k("zh-key", func(g *gen) string { return g.alnum(32) }, "密钥是%s", "密钥：%s", "秘钥 %s", "api key 是 %s", "token是%s", "令牌：%s", "私钥 %s", "接口密钥给你 %s", "把 key 换成 %s", "新 token %s"),
		k("en-is", pw, "the password is %s", "password is %s, don't lose it", "password: %s", "the wifi password is %s", "Password=%s", "our password is now %s", "my password was %s", "pwd: %s", "pw: %s", "pass = %s", "passwd %s", "Password %s", "pw is %s", "passcode: %s", "passphrase is \"%s\""),
		k("en-for", pw, "password for the server is %s", "the password for staging db is %s", "password to the wifi is %s", "the admin password: %s", "root password is still %s", "the new pass is %s"),
		k("en-changed", pw, "I changed the password to %s", "password was reset to %s", "password has been changed to %s", "I set the password to %s", "password updated to %s", "we rotated the password, it's %s now", "i made the password %s"),
		k("en-login", pw, "login with root and %s", "log in as admin / %s", "sign in with bob@example.com and %s", "login: admin / %s", "creds: admin / %s", "credentials are admin:%s", "creds for staging: deploy / %s", "username admin password %s", "user: bob pass: %s", "user bob, pw %s", "ssh in as root with %s"),
		k("en-reverse", pw, "use %s as the password", "%s is the password", "%s is the wifi password", "try %s as the admin password", "\"%s\" is my password"),
		k("en-wifi", func(g *gen) string { return g.pick("sunny", "coffee", "dragon") + g.digits(4) }, "wifi: HomeNet / %s", "WiFi is CafeGuest, password %s", "wifi pass: %s", "wifi key is %s", "wifi pw %s"),
		k("en-otp", code6, "your code is %s as the verification code", "verification code is %s", "verification code: %s", "%s is your verification code", "your OTP is %s", "OTP: %s", "security code %s", "G-%s is your Google verification code", "the 2fa code is %s", "login code: %s. Do not share it.", "Your one-time passcode is %s"),
		k("en-pin", code4, "my pin is %s", "PIN: %s", "the pin for the card is %s", "pin code %s", "atm pin %s", "the PIN number is %s", "phone pin is %s"),
		k("en-door", code4, "door code is %s", "the gate code is %s", "gate code: %s#", "alarm code %s", "the lockbox code is %s", "code for the front door is %s", "garage code is %s", "building entry code: %s", "safe combination: %s"),
		k("en-key", func(g *gen) string { return g.alnum(32) }, "the api key is %s", "API key: %s", "my token is %s", "access token: %s", "client secret is %s", "secret: %s", "here's the api key %s", "the key for the service is %s", "use this token: %s", "signing key = %s", "webhook secret is %s", "%s is the api key"),
		k("wide", func(g *gen) string { return g.wide(g.of(lowerSet, 5) + g.digits(4)) }, "密码是%s", "密码：%s", "password: %s", "密码 %s"),
		k("wide-token", func(g *gen) string { return g.wide("ghp_" + g.alnum(36)) }, "%s", "新的是%s，收好", "token: %s"),
		k("zero-width", func(g *gen) string {
			s := "AKIA" + g.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)
			return s[:6] + "\u200b" + s[6:12] + "\u200d" + s[12:]
		}, "%s", "key %s ok"),
		k("zero-width-password", func(g *gen) string { s := g.of(lowerSet, 5) + g.digits(4); return s[:3] + "\u200b" + s[3:] }, "密码是%s", "the password is %s"),
		k("backup-codes", func(g *gen) string { return g.hex(4) + "-" + g.digits(4) }, "backup code: %s", "recovery codes: %s", "backup codes are %s"),
	}
}

func (g *gen) pick2(a, b int) int {
	if g.IntN(2) == 0 {
		return a
	}
	return b
}

// plants makes n lines of a kind.
func (k kind) plants(g *gen, n int) []planted {
	lines := k.lines
	if len(lines) == 0 {
		lines = tokenLines
	}
	list := make([]planted, n)
	for i := range list {
		s := k.make(g)
		list[i] = planted{strings.ReplaceAll(lines[i%len(lines)], "%s", s), s}
	}
	return list
}
