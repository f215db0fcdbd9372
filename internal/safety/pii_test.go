package safety

import (
	"strings"
	"testing"
)

func TestFindPII(t *testing.T) {
	const (
		mail  = "email"
		phone = "phone"
	)
	for _, s := range []struct{ rule, text, found string }{
		{mail, "write to anna.b+list@example.co.uk, thanks", "anna.b+list@example.co.uk"}, {mail, "邮箱是zhang.san@qq.com。", "zhang.san@qq.com"},
		{mail, "mailto://bob@example.com", "bob@example.com"}, {mail, "https://example.com/bob@example.org", "bob@example.org"}, {mail, "<bob@example.com>", "bob@example.com"}, {mail, "发到 ａｎｎａ@example.com", "ａｎｎａ@example.com"}, {mail, "anna@exa\u200bmple.com", "anna@exa\u200bmple.com"},
		{phone, "我的手机号是13812345678", "13812345678"}, {phone, "打 138 1234 5678 找我", "138 1234 5678"}, {phone, "电话138-1234-5678。", "138-1234-5678"},
		{phone, "+86 13812345678", "+86 13812345678"}, {phone, "+86-138-1234-5678", "+86-138-1234-5678"}, {phone, "8613812345678", "8613812345678"},
		{phone, "座机 010-62345678", "010-62345678"}, {phone, "公司电话0755-86543210转801", "0755-86543210"}, {phone, "(021) 62345678", "(021) 62345678"}, {phone, "02162345678 是办公室的", "02162345678"},
		{phone, "call +1 415 555 2671", "+1 415 555 2671"}, {phone, "call +14155552671 now", "+14155552671"}, {phone, "+44 20 7946 0958", "+44 20 7946 0958"}, {phone, "+49 (0)30 901820", "+49 (0)30 901820"},
		{phone, "(415) 555-2671", "(415) 555-2671"}, {phone, "415-555-2671 is mine", "415-555-2671"}, {phone, "my number is 415.555.2671", "415.555.2671"}, {phone, "1-415-555-2671", "1-415-555-2671"},
		{phone, "打１３８１２３４５６７８", "１３８１２３４５６７８"}, {phone, "手机 138\u200b1234\u200b5678", "138\u200b1234\u200b5678"},
	} {
		found := FindPII(s.text)
		if len(found) != 1 || found[0].Rule != s.rule || s.text[found[0].Start:found[0].End] != s.found {
			t.Errorf("%q: found %+v %q, want %s %q", s.text, found, spans(s.text, found), s.rule, s.found)
			continue
		}
		masked := maskFound(s.text, found, maskPII)
		if masked != strings.Replace(s.text, s.found, "[pii:"+s.rule+"]", 1) || len(FindPII(masked)) > 0 {
			t.Errorf("%q masked is %q", s.text, masked)
		}
	}
}

func TestNoPII(t *testing.T) {
	for _, s := range []string{
		"13812345678元", "¥13812345678", "共13812345678条", "QQ 13812345678", "订单13812345678", "1381234567890", "id=13812345678", "13812345678.5", "2024-01-15 12:30:45", "192.168.100.200",
		"git@github.com:a/b.git", "@bob", "http://user@example.com/", "http://ada:password@example.com", "a@b", "foo@bar baz", "npm i vite@5.0.12", "会议号 812 345 678", "1.2.3.4.5.6.7.8", "+1 for that", "+100 points", "3.14159265358979",
		"2024-2025", "10-15-2024", "555-1234", "978-7-111-21382-6", "1705312245", "4bf92f3577b34da6a3ce929d0e0e4736",
	} {
		if found := FindPII(s); len(found) != 0 {
			t.Errorf("%q: found %+v %q", s, found, spans(s, found))
		}
	}
}

func FuzzMaskPII(f *testing.F) {
	f.Add("anna@example.com or +86 138 1234 5678, 010-62345678")
	f.Add("(415) 555-2671 １３８１２３４５６７８")
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, found := range FindPII(s) {
			if found.Start < end || found.End <= found.Start || found.End > len(s) {
				t.Fatalf("%q: bad finding %+v", s, found)
			}
			end = found.End
		}
	})
}
