package gitleaks

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reverie/internal/safety"
)

// hard are lines without a secret or personal data that look as if they had one.
const hard = `忘了密码
密码忘了，怎么找回
密码又输错了三次
密码错误，请重试
密码太长记不住
你密码是什么来着
密码是必填项
密码长度至少8位
密码要包含大小写字母和数字
密码是不是改了
密码不对啊
密码别发群里
我密码是我生日
密码强度要求 8-16 位，含字母数字
密码有效期90天
密码每90天换一次
密码策略下周一生效
密码本丢了
密码学作业写完没
密码学第3章的RSA看懂了吗
密码用MD5存的？太离谱了
密码哈希用 bcrypt 还是 argon2
密码加密用的AES256
密码管理器推荐1Password
密码输入框在iOS17上有bug
改密码的页面报500
你把密码改一下吧
账号密码都忘了
账号被封了
账号异常，密码登录不了
账号是公司统一分配的
支付密码和登录密码不要一样
验证码收到了吗
验证码一直收不到
验证码60秒后才能重发
验证码是动态的
验证码4位还是6位
验证码识别率95%
token 用完了
token用了12000个
这个月token花了300块
token 价格又降了 50%
token 上限是 128000
一个汉字大概1.5个token
max_tokens=4096 就够了
access token 过期要刷新
refresh token 有效期30天
token过期了重新登录
key point is communication
the key is to start early
主键 key 用自增还是uuid
redis 的 key 太多了，有2000000个
key 的命名规范是 业务:模块:id
cache key 是 user:12345:profile
primary key: user_id
foreign key (order_id) references orders_2024
key takeaways from the meeting on 2024-05-12
key results for Q3: 3 of 5 done
keyboard: Keychron K8 Pro
the key of the song is C#m
the secret to good coffee is patience
secret santa is on 2024-12-24
no secrets between us
secret ingredient: MSG
client secret 要去控制台申请
秘密基地在三楼
私钥和公钥的区别是什么
密钥长度2048位
密钥轮换每季度一次
the password policy requires 12 characters
password must be 8-16 characters
password is required
I forgot my password again
reset your password at the help desk
password manager of choice is Bitwarden
passwords expire every 90 days
the password field is broken on iOS17
the password is too short
the password is wrong
the password is the same as last time
password reset link expired
did you change the password to the new one
who has the password for the projector
we store the password as a bcrypt hash
password hashing with argon2id takes 300ms
pass me the salt
pass rate is 98.5%
pass the test by 2024-06-01
pass: 45, fail: 3
login failed with error 401
login with Google is broken
login page returns 502
sign in with Apple on iOS17 fails
login: please use SSO
user: bob said hi
admin is on vacation until 2024-08-15
account 2 of 5 migrated
root cause: null pointer in v2.3.1
root is /usr/local/go1.22
user 12345 has been deleted
creds will be shared in the vault
pin this message please
pin the version to 1.2.3
pinned at 1200 px
the pin is broken
PIN码忘了去柜台重置
code: 404
exit code 137
error code 10060
zip code 94103
area code is 010
http code 5000?
status code is 200
the dress code is casual
code review took 3 hours
QR code is on page 12
promo code SUMMER20
country code 86
the code is on GitHub
source code for chapter 1234
door opens at 1900
the gate is B12
gate 23 at 14:35
门口有2580个人
门票1200元
房间号 1203
房间号是80215
包间888，6点半
会议号 812 345 678
腾讯会议 812-345-678
Zoom meeting id 812 3456 7890
会议ID：81234567890
会议号：123 456 789，没有密码
取件码没收到
QQ号 123456789
我QQ是 1234567890，加一下
群号 876543210
单号 SF1234567890123
快递单号 773012345678901
顺丰 SF1401234567890 到了
圆通YT8812345678901
运单号75312345678901
订单号 20240115123456789
订单 202401151234567890 发货了
淘宝订单号 1234567890123456789
order #112-3456789-1234567 arrived
order 1234567890123 shipped
tracking 1Z999AA10123456784
USPS 9400111899223197428490
FedEx 123456789012
invoice INV-2024-000123
ticket #48213 is closed
JIRA-12345 已解决
PR #4821 merged
commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
git checkout 3f2504e
git cherry-pick 9f86d08
revert a94a8fe5ccb19ba61c4c0873d391e987982fbbd3 please
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
sha256 是 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
md5 5d41402abc4b2a76b9719d911017c592
文件 md5: 5d41402abc4b2a76b9719d911017c592
etag "33a64df551425fcc55e4d42a148795d9f25f89d4"
uuid 550e8400-e29b-41d4-a716-446655440000
id: 550e8400-e29b-41d4-a716-446655440000
request id 4bf92f3577b34da6a3ce929d0e0e4736
traceId=4bf92f3577b34da6a3ce929d0e0e4736
trace 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
docker pull nginx@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 confirmed
send it to 0x52908400098527886E0F7030069857D2E4169EE7
合约地址 0x52908400098527886E0F7030069857D2E4169EE7
BTC 地址 1BoatSLRHtKNngkdXEeobR76b53LETtpyT
bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq is the address
ISBN 9787111213826
ISBN 978-7-111-21382-6
ISBN 0-306-40615-2
条形码 6901234567892
barcode 4006381333931
EAN 5901234123457
IMEI 490154203237518
VIN 1HGCM82633A004352
MAC 00:1A:2B:3C:4D:5E
ipv6 2001:0db8:85a3:0000:0000:8a2e:0370:7334
192.168.1.100:8080 可以访问
10.0.0.5:3306
localhost:8080
http://localhost:3000/api/v1/users?id=12345
https://github.com/golang/go/commit/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
https://www.bilibili.com/video/BV1GJ411x7h7
https://www.youtube.com/watch?v=dQw4w9WgXcQ
https://youtu.be/dQw4w9WgXcQ?t=43
https://item.taobao.com/item.htm?id=520813250866
https://mp.weixin.qq.com/s/5KcVuFYqqh4eLoVRvMYKSw
https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit
https://zoom.us/j/81234567890
https://meeting.tencent.com/dm/AbCdEfGhIjKl
https://pan.baidu.com/s/1aBcDeFgHiJkLmNoPqRs
https://example.com/a?page=2&sort=desc&utm_source=wechat
https://example.com/path/to/very-long-file-name-2024-final-v2.pdf
https://maps.app.goo.gl/AbCdEfGh12345678
git@github.com:golang/go.git
ssh root@10.0.0.5 连不上
@bob see #general
version 1.22.3-alpine3.19
v2.3.4-rc.1+build.5114f85
go1.22.1 linux/amd64
python3.11 和 numpy1.26
node v20.11.1
Ubuntu 22.04.3 LTS
iPhone15ProMax 256GB 7999元
RTX4090 24G 显存
i7-13700K + 32GB DDR5-6000
A4纸 500张
G1234 次列车 14:35 开
D3056 06车12F
MU5137 航班延误到 18:40
CA1831 T3
UA857 gate G92
车牌 京A12345
京A·F1234 挪一下车
粤B8D123
2024-01-15 12:30:45
20240115_123045.jpg
IMG_20240115_123045.jpg
DSC01234.JPG
微信图片_20240115123045.png
Screenshot_2024-01-15-12-30-45-123_com.tencent.mm.jpg
report_final_v3(2).docx
比分 112:108
21-19 21-17 赢了
我 2580 分
股价 1688.88
汇率 7.2345
3.14159265358979323846
价格 12,345.67 元
¥1299 包邮
一共 13800 元
房租 13800138 一年？开玩笑
人口 1400000000
GDP 126058200000000
pi = 3.1415926535
圆周率 3.141592653589793238462643383279
1234567890
88888888
666666
11111111111
12345678901234567890
100000000000000
1e10
0x7fffffff
0xDEADBEEF
#FF5733
rgb(255,87,51)
x = 42; y = 3.14
if (a > b) { return c; }
SELECT * FROM users WHERE id = 12345
const API_URL = "https://api.example.com"
const token = getToken()
let password = prompt("password")
password = os.environ["DB_PASSWORD"]
password=${DB_PASSWORD}
password: <your password>
password: ********
api_key = os.getenv("OPENAI_API_KEY")
api_key: your-api-key-here
API_KEY=xxxxxxxx
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
func parseToken(token string) (*Claims, error)
token := r.Header.Get("Authorization")
key := fmt.Sprintf("user:%d", id)
for key, value := range m {
map[string]int{"secret": 1}
secretKeyRef: name: db-credentials key: password
kubectl get secret my-app-secret -n prod
kubectl create secret generic db-creds
git secret scanning is on
basic auth is deprecated
basic understanding of Kubernetes
bearer of bad news
session 3 starts at 14:00
session id 是什么
sessionid 存在cookie里
cookie: chocolate chip
cookies are disabled
docker run -p 8080:80 nginx
docker run -d -p 127.0.0.1:5432:5432 postgres:16
mysql -u root -p
mysql -h 127.0.0.1 -P 3306 -u root -p shop
psql -h db -U app -p 5432
ssh -p 2222 root@10.0.0.5
curl -v https://example.com
curl -X POST http://localhost:8080/api/v1/login
mkdir -p /tmp/build2024
cp -p file1 file2
npm install @types/node@20.11.5
pip install requests==2.31.0
go get golang.org/x/text@v0.14.0
base64 of hello is aGVsbG8=
SGVsbG8gV29ybGQh 解码出来是 Hello World!
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl bob
BIP39 has 2048 words
助记词要抄在纸上
wallet was left on the table
my wallet has 300 dollars
passport expires in 2027
护照过期了
护照号填哪里
身份证过期了要补办
身份证号是18位
身份证带了吗
SSN is required for the form
cvv is on the back
card game night at 8
卡号在背面
银行卡丢了
银行卡号一般是16到19位
信用卡还款日 25 号
IBAN is required for transfers
DE is the country code of Germany
wifi 又断了
wifi 密码多少
WiFi密码贴在墙上
wifi is slow: 2.4G only
wifi6 路由器 AX3000
提取码没给啊
提取码是多少
提取码在评论区
链接失效了，重新发一个提取码
邀请码没了
激活码在哪买
优惠码 SAVE20
序列号在机身背面
授权码过期了
the alarm is set for 0630
alarm code review is tomorrow
safe to merge 1234?
access code paths in v2.3
office room 1204
the building is 1200 years old
lock version 1234
recovery took 1200 seconds
backup finished in 3600 s
security patch 2024-05
verification takes 3 days
login count is 48213
otp library is pyotp
auth service restarted 5000 times
unlock the 1000 coin prize
access 1000 files at once
confirmation number? none
sms cost 0.045 each
credentials are in 1Password
credentials: see the wiki
credential rotation on 2024-06-01
admin panel is at port 8443
admin: can you approve PR4821?
用户名已存在
用户名只能是字母和数字
后台报错 NullPointerException
后台在 10.0.0.5:8080
管理员 bob 在线吗
无线鼠标 M720
热点 iPhone13 太慢
口令红包抢到了
口令红包 888
暗号对上了
通行证过期
通行码变黄了
用 python3 解压
用 7zip 解压
用手机号登录
用户登录不了
用 Chrome120 登录
输入 help2 查看命令
use python3 as the default interpreter
use utf8mb4 as the charset
sk 和 ak 是什么意思
ask-me-anything-session-2024-06-01
risk-adjusted-returns-2024q1-summary
task-runner-v2-alpha-build-2024
sk-learn 1.4.2
hf_transfer is fast
npm_config_registry=https://registry.npmmirror.com
pypi-server 2.0
gsk_ 开头的是什么
xai-org/grok-1 开源了
pa-rt2-of-the-series-2024-summary
akid 是什么
ltai 是阿里云的
AKIA is a prefix
eyJ is how JWTs start
AIza 开头是谷歌的
SG.is not a country
SECURITY2024 conference
SEC filing 10-K 2023
CIO1 position opened
patent 10123456 granted
pat123 is my handle
s.length is 24
dp.length is 3
x.y.z
1.2.3.4.5.6.7.8.9.10
A3-1234
我在3号楼2单元1203
地址：科技路100号8栋1203室，邮编 518000
邮编 100080
营业执照 91310115MA1K3XXX0X
统一社会信用代码 91440300708461136T
学号 2021012345
工号 10086
航班座位 32A
身高175体重65
血压 120/80
体温36.5
早上8:00-12:00
电话会议 14:00
客服 95588
拨打 10086
110 和 120
400 客服打不通
911 is for emergencies
call me at 5
phone number please
手机号填一下
电话打不通
邮箱写错了
email me the report
发我邮箱
@everyone meeting at 3pm
foo@bar 不是邮箱
a@b
user@host:~$ ls
root@ubuntu2204:~# apt update
npm i vite@5.0.12
actions/checkout@v4
nginx@1.25.3
价格 13912元
共 18612345 条
QPS 13812345
id=13812345678901
13812345678901234
timestamp 1705312245
时间戳 1705312245123
unix 1700000000
ts=1705312245.123456
1,234,567,890
(123) 456 apples
123-456
2024-2025
10-15-2024
555-1234
12.345.678
007`

// patterns make ordinary lines; {n} is a number of so many digits, {h} hexadecimal ones,
// {w} a word.
const patterns = `今天{w}吃了{n2}个{w}，花了{n3}块
周{n1}下午{n1}点在{n4}会议室开会
订单号{n16}已发货，预计{n1}天到
订单 {n18} 有问题
快递单号 SF{n13}
单号{n12}到驿站了
YT{n13} 派送中
QQ {n9}
加我QQ{n10}
群号{n9}，备注{w}
会议号 {n3} {n3} {n3}
腾讯会议：{n3}-{n3}-{n3}
{w}的版本是 v{n1}.{n2}.{n1}
commit {h40} 有问题
回滚到 {h7}
看下 {h40}
trace id {h32}
{h8}-{h4}-4{h3}-a{h3}-{h12}
请求 id：{h8}-{h4}-4{h3}-9{h3}-{h12}
md5 是 {h32}
sha256: {h64}
ISBN 978{n10}
G{n4} 次 {n2}:{n2} 开
D{n4} {n2}车{n2}A
MU{n4} 延误
房间{n4}
{n4}号房
价格{n5}元，包邮
¥{n4}.{n2}
¥{n11}
共{n7}条记录
比分{n2}:{n2}
{n2}-{n2} 赢了
日期 2024-0{n1}-1{n1}
2024{n2}{n2}_{n6}.jpg
IMG_2024{n4}_{n6}.jpg
{w}_{n4}.pdf
{w} ran in {n4} ms
{w} costs {n3} dollars
build {n5} failed on {w}
PR #{n4} by {w} needs review
ticket {n6} is done
order {n10} shipped
order #{n3}-{n7}-{n7}
tracking number {n12}
tracking 94{n20}
invoice {n8} is due
meeting id {n3} {n4} {n4}
zoom {n11}
room {n4} at {n2}:{n2}
flight UA{n4} seat {n2}C
score {n2} to {n2}
version {n1}.{n2}.{n2}
commit {h40} broke {w}
git show {h7}
revert {h40}
id {h8}-{h4}-4{h3}-b{h3}-{h12}
image sha256:{h64}
request {h32} timed out
port {n4} is taken
error {n5} in {w}.go:{n3}
the {w} has {n6} rows
we had {n5} users and {n7} requests
token 用了 {n5} 个
{w} token 花了{n3}块
token budget is {n6}
tokens: {n5} in, {n4} out
密码错误{n1}次
密码{n2}天后过期
密码要 {n1}-{n2} 位
the password must have {n2} characters
password attempt {n1} failed
验证码{n2}秒后重发
the key has {n4} bits
{w} 的 key 有 {n7} 个
key count {n6}
login took {n4} ms
{w} login at {n2}:{n2}
account has {n5} points
user {n6} joined
用户{n8}入群
https://example.com/{w}/{n6}
https://github.com/{w}/{w}/pull/{n4}
https://{w}.example.com/a?id={n8}&page={n2}
https://item.jd.com/{n12}.html
https://www.bilibili.com/video/BV1{w}{n2}
{w}-{n4}-{w}.zip
10.{n1}.{n1}.{n2}:{n4}
2024-01-{n2}T12:{n2}:00Z INFO {w} id={h16} took={n4}ms
trace={h32} span={h16} status={n3}
{w}: {n1} for {n1}
{n4} {w}
{n6}
{n8}
{n10}
{n13}
{n20}
0x{h8}
0x{h40}
tx 0x{h64}
#{h6}
分数 {n3} 分
第{n4}章
{n4}年{n1}月
库存{n6}件
余额 {n5}.{n2}
股票代码 {n6}
基金 {n6} 涨了
邮编 {n6}
工号 {n6}
学号 {n10}
timestamp 17{n8}
时间戳 17{n11}
uid {n9}
uid={n12}
身高1{n2}
{w}{n2}是我的游戏id
{w}: lol {w}{n3}
我的游戏名 {w}_{n4}
ping {w}{n4}
cron {n1} {n1} * * *
{w} v{n1}
AS{n5}
RFC {n4}
CVE-2024-{n5}
KB{n7}
PO-{n8}
case {n8}
SKU {n6}-{w}
型号 {w}-{n4}X`

// ordinary are chat lines without a secret or personal data.
func ordinary(n int) []string {
	words := strings.Fields("apple release server 火锅 奶茶 coffee deploy parser 项目 report banana 周报 design router python 地铁 cache budget 电影 survey Tokyo 小王 alice worker 版本 dragon Postgres 作业 footage 羽毛球 kernel marathon")
	g := &gen{rand.New(rand.NewPCG(3, 4))}
	lines := strings.Split(hard, "\n")
	templates := strings.Split(patterns, "\n")
	around := [][2]string{{"", ""}, {"hey, ", ""}, {"哈哈 ", ""}, {"", "，大家看下"}, {"", " thanks"}, {"@all ", "。"}, {"", "?"}, {"- ", ""}}
	for i := len(lines); i < n; i++ {
		line := templates[i%len(templates)]
		for strings.Contains(line, "{") {
			at := strings.Index(line, "{")
			end := at + strings.Index(line[at:], "}")
			var size int
			fmt.Sscan(line[at+2:end], &size)
			var drawn string
			switch line[at+1] {
			case 'n':
				drawn = g.of("123456789", 1) + g.digits(size-1)
			case 'h':
				drawn = g.hex(size)
			default:
				drawn = words[g.IntN(len(words))]
			}
			line = line[:at] + drawn + line[end+1:]
		}
		a := around[g.IntN(len(around))]
		lines = append(lines, a[0]+line+a[1])
	}
	return lines
}

// falseAlarms are the ordinary lines that are taken for secrets, and for personal data.
func falseAlarms(lines []string) (secrets, pii []string) {
	for _, line := range lines {
		if len(safety.FindSecrets(line)) > 0 {
			secrets = append(secrets, line)
		}
		if len(safety.FindPII(line)) > 0 {
			pii = append(pii, line)
		}
	}
	return secrets, pii
}

// Ordinary lines must pass: at most one of a thousand is taken for a secret, and at most
// two of a thousand for personal data.
func TestFalseAlarms(t *testing.T) {
	lines := ordinary(5000)
	secrets, pii := falseAlarms(lines)
	if len(secrets)*1000 > len(lines) || len(pii)*500 > len(lines) {
		t.Errorf("of %d lines these are taken for secrets: %q, and these for personal data: %q", len(lines), secrets, pii)
	}
}

// TestNumbersTakenForCards: few rows of 16 digits that no word calls anything are taken
// for a payment card, those that begin and end as one.
func TestNumbersTakenForCards(t *testing.T) {
	random, taken := rand.New(rand.NewPCG(16, 16)), 0
	const of = 20000
	for range of {
		for _, found := range safety.FindSecrets(fmt.Sprintf("it was %016d", random.Uint64N(1e16))) {
			if found.Rule == "bank-card" {
				taken++
			}
		}
	}
	share := 100 * float64(taken) / of
	t.Logf("%.1f%% of %d numbers of 16 digits, one in %.0f", share, of, 100/share)
	if share < 2 || share > 5 {
		t.Errorf("of all rows of 16 digits a tenth have the check digit, and a third begin as a network's: %.1f%% are taken for a card", share)
	}
}
