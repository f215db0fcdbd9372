package safety

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// secretSample is a text with one secret in it. The secrets are put together
// here from a prefix and filler, so that no scanner takes this file for a leak.
type secretSample struct{ rule, text, secret string }

func secretSamples() []secretSample {
	const filler = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0"
	whole := func(rule, secret string) secretSample { return secretSample{rule, secret, secret} }
	in := func(rule, before, secret, after string) secretSample {
		return secretSample{rule, before + secret + after, secret}
	}
	return []secretSample{
		whole("aws-key", "AKIA"+"IOSFODNN7EXAMPLE"), whole("aws-key", "ASIA"+"Y34FZKBOKMUTVV7A"),
		in("aws-secret", "aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
		whole("github-token", "ghp_"+filler[:36]), whole("github-token", "github_pat_"+filler[:22]+"_"+filler[:40]),
		whole("gitlab-token", "glpat-"+filler[:20]),
		whole("slack-token", "xoxb-"+"123456789012-123456789012-"+filler[:24]), whole("slack-token", "xapp-1-"+filler[:30]),
		whole("slack-webhook", "hooks.slack.com/services/T00000000/B00000000/"+filler[:24]),
		whole("anthropic-key", "sk-ant-"+"api03-"+filler[:50]), whole("openai-key", "sk-proj-"+filler[:48]), whole("openai-key", "sk-"+filler[:48]),
		whole("google-key", "AIza"+filler[:35]), whole("google-key", "GOCSPX-"+filler[:28]),
		whole("stripe-key", "sk_live_"+filler[:24]), whole("stripe-key", "rk_test_"+filler[:24]),
		whole("npm-token", "npm_"+filler[:36]), whole("pypi-token", "pypi-AgEIcHlwaS5vcmc"+filler[:50]),
		whole("telegram-token", "123456789:AA"+filler[:33]),
		whole("discord-token", "MTIzNDU2Nzg5MDEyMzQ1Njc4"+"."+"GabcDE"+"."+filler[:38]),
		whole("discord-webhook", "discord.com/api/webhooks/123456789012345678/"+filler[:60]+"abcdefgh"),
		whole("jwt", "eyJhbGciOiJIUzI1NiJ9."+"eyJzdWIiOiIxMjM0In0."+filler[:43]),
		whole("private-key", "-----BEGIN RSA "+"PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----"),
		whole("private-key", "-----BEGIN "+"PRIVATE KEY-----\nMIIEow cut off"),
		in("url-password", "postgres://bob:", "s3cr3t!", "@db.local/prod"), in("url-password", "postgres://app:", "S3c/r#t/9", "@db.example.com/a"), in("url-password", "redis://:", "p4ssw0rd9", "@cache:6379"),
		in("bearer-token", "Authorization: Bearer ", filler[:32], ""), in("basic-auth", "Authorization: Basic ", "Ym9iOmh1bnRlcjI=", ""),
		in("password", "password: ", "hunter22", ""), in("password", "the password is ", "hunter22", ", ok?"), in("password", "Password for the wifi is ", "Sunny-Day9", ""),
		in("password", "pwd=", "P@ssw0rd", ""), in("password", "our password is now ", "OpenSesame", "."), in("password", "password: \"", "abc123def", "\""),
		in("password", "密码是", "abc12345", "，别外传"), in("password", "Wi-Fi密码：", "88886666", ""), in("password", "密碼是 ", "Tr0ub4dor&3", ""),
		in("password", "门禁密码是", "2580#", "哦"), in("password", "密码改成了", "newPass99", ""), in("password", "密码（新）：", "xYz_2024", ""), in("password", "口令就是", "zhimaK4imen", ""),
		in("password", "psk=\"", "rose_9921", "\""), in("password", "密 码：", "rose_9921", ""), in("password", "passwd 我改回 ", "Qwerty!23", " 了"),
		in("password", "it's still ", "blueWhale77!", " (the password)"), in("password", "my Apple ID pass code is ", "220914", ""), in("door-code", "gate opens with ", "8821#", ""),
		in("login", "服务器 root/", "Haha@2023x", ""), in("login", "ssh 登录用 ubuntu / ", "Summer2024!", ""), in("command-password", "sqlplus scott/", "Tig#er9", "@host"),
		in("password", "Пароль от wifi: ", "Sun#2024x", ""), in("password", "パスワードは", "Sakura#77", "です"), in("password", "비밀번호는 ", "Hana_8899", " 입니다"),
		in("password", "le mot de passe est ", "Soleil2024!", ""), in("password", "das Passwort für das WLAN ist ", "Blume77!", ""), in("password", "la contraseña es ", "Gato_2024", ""),
		in("url-password", "see ://user:", "xx", "[pii:email]:5432"),
		in("one-time-code", "verification code is ", "482913", ""), in("one-time-code", "验证码是", "482913", "。"), in("pin", "the PIN: ", "4821", "."),
		in("api-key", "api_key = ", filler[:24], ""), in("api-key", "密钥是", filler[:24], ""), in("api-key", "DEEPL_AUTH_TOKEN: ", filler[:30], ""),
	}
}

func TestFindSecrets(t *testing.T) {
	for _, s := range secretSamples() {
		for _, around := range [][2]string{{"", ""}, {"hey, ", " thanks"}, {"看这个 ", "\n第二行"}} {
			text := around[0] + s.text + around[1]
			if strings.HasSuffix(s.text, "cut off") {
				text = around[0] + s.text
			}
			found := FindSecrets(text)
			if len(found) != 1 || found[0].Rule != s.rule || text[found[0].Start:found[0].End] != s.secret {
				t.Errorf("%q: found %+v (%s), want %s %q", text, found, spans(text, found), s.rule, s.secret)
				continue
			}
			masked := MaskSecrets(text)
			if strings.Contains(masked, s.secret) || !strings.Contains(masked, "[secret:"+s.rule+"]") || MaskSecrets(masked) != masked {
				t.Errorf("%q masked is %q", text, masked)
			}
		}
	}
}

func spans(text string, found []Finding) (list []string) {
	for _, f := range found {
		list = append(list, text[f.Start:f.End])
	}
	return list
}

func TestNoSecrets(t *testing.T) {
	for _, s := range []string{
		"the password is required", "I forgot my password", "password: ********", "password: <your password>", "password=${DB_PASSWORD}", "password: your-password-here",
		"the password must be 8-16 characters", "password is 12+ characters", "password: xxxxxx", "the password is case-sensitive", "password was changed yesterday", "the password manager is nice",
		"密码是必填项", "密码是什么", "密码是2024年改的", "密码是8位数字", "密码：******", "忘记密码是常事", "我的密码是我生日",
		"token price is 12345", "the token is expired", "a secret is a secret", "key: value", "the secret is communication", "密钥是什么",
		"sk-learn is a library", "sk-ip-this-one-please-now-ok", "a task-force-of-many-people-here", "bearer of bad news", "bearer authentication is required here",
		"https://example.com:8080/path@home", "http://user@host/", "https://example.com:8080/a/b@2x.png", "http://user:****@host/", "call 13812345678", "order 20240115123456", "at 12:30:45 PM",
		"AKIA is a prefix", "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "550e8400-e29b-41d4-a716-446655440000",
		"-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "eyJ is how JWTs start", "main.go:123:AAAA", "the pin is broken", "pin code 2024年", "验证码收到了吗", "area code is 010",
		"password: [secret:password]", "MTIzNDU2 is base64", "secret santa is on 2024-12-24", "code: 404", "他的口令是\"芝麻开门\"那个游戏", "das Passwort ist erforderlich", "npm i admin/pkg@1.0.2",
		"uptrace.dev/?a=b&c=2#d", "see root/etc/x2#4", "host:5432 [pii:email]", "password: [pii:email]", strings.Repeat("long ", 40),
	} {
		if found := FindSecrets(s); len(found) != 0 {
			t.Errorf("%q: found %+v %q", s, found, spans(s, found))
		}
	}
}

func TestSeveralSecrets(t *testing.T) {
	text := "password: hunter22, key AKIA" + "IOSFODNN7EXAMPLE and 密码是abc12345。"
	want := "password: [secret:password], key [secret:aws-key] and 密码是[secret:password]。"
	if got := MaskSecrets(text); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzMaskSecrets(f *testing.F) {
	for _, s := range secretSamples() {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, found := range FindSecrets(s) {
			if found.Start < end || found.End <= found.Start || found.End > len(s) || found.Rule == "" {
				t.Fatalf("%q: bad finding %+v", s, found)
			}
			end = found.End
		}
		if once := MaskSecrets(s); MaskSecrets(once) != once {
			t.Fatalf("masking %q twice: %q, then %q", s, once, MaskSecrets(once))
		}
	})
}

func BenchmarkMaskSecrets(b *testing.B) {
	plain := strings.Repeat("The group meets on Fridays, bring snacks! 大家周五聚餐，小王订位。My code review took 3 hours; token budgets are fun.\n", 100)
	b.SetBytes(int64(len(plain)))
	b.ReportAllocs()
	for b.Loop() {
		MaskSecrets(plain)
	}
}

// Texts that are made to be slow must cost about as much as others of their
// size.
func BenchmarkMaskSecretsHostile(b *testing.B) {
	units := map[string]string{"token": "token:", "jwt": "eyJ-", "password": "password for ", "pem": "-----BEGIN ", "url": "://a", "bearer": "bearer ", "mask": maskOpen}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		text := strings.Repeat(units[name], 1<<17/len(units[name]))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				MaskSecrets(text)
			}
		})
	}
}

// A password is any word that is given as one, in a sentence that ends with it or says for whom
// it is. What is said about passwords is none, nor a word before an exclamation mark.
func TestPlainWordsAsPasswords(t *testing.T) {
	for s, want := range map[string]bool{
		"password:marigold for the guest account": true, "The wifi password is marigold": true, "the password for the shed is bluebird.": true,
		"口令是 天王盖地虎": true, "密码是“春暖花开”": true, "the password is wrong": false, "change the root password first!": false,
		"The password is stored": false, "deploy ALL=(ALL) NOPASSWD:/usr/bin/apt": false, "密码是 什么来着": false, "密码是我生日": false,
	} {
		if got := FindSecrets(s); (len(got) > 0) != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// A row of cards is masked at once, and what stays behind many rounds is masked whole.
func TestRowsOfCards(t *testing.T) {
	row := strings.Repeat("4111 1111 1111 1111 ", 50)
	if got := MaskSecrets(row); strings.Contains(got, "1") || strings.Count(got, "[secret:bank-card]") != 50 {
		t.Errorf("%.200q", got)
	}
	found := []Finding{{"x", 12, 14}, {"x", 30, 31}}
	s := "[secret:a-b]abcdef[secret:c] and more"
	if got := maskFound(s, widen(s, found, maxRounds), maskOpen); got != "[secret:a-b][secret:x][secret:c][secret:x]" {
		t.Errorf("%q", got)
	}
}
