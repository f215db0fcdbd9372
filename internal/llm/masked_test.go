package llm

import (
	"strings"
	"testing"

	"reverie/internal/safety"
)

const awsKey = "AKIA" + "Z7QK3W2NVYTL5RPX"

// An answer keeps its form when something in it is masked, and its bytes when nothing is.
func TestMasked(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"nothing", "{\"action\":\"none\"}\n", "{\"action\":\"none\"}\n"},
		{"escapes alone", `{"statement":"a \"tea\" house\n"}`, `{"statement":"a \"tea\" house\n"}`},
		{"a secret", `Sure: ` + "\n" + `{"statement":"the key is ` + awsKey + `","tags":["x"]}`, `{"statement":"the key is [secret:aws-key]","tags":["x"]}` + "\n"},
		{"a secret in pieces of JSON", `{"statement":"\u0041` + awsKey[1:] + `"}`, `{"statement":"[secret:aws-key]"}` + "\n"},
		{"a secret in pieces, said over", `{"statement":"\u0041` + awsKey[1:] + `","statement":"tea"}`, `{"statement":"[secret:aws-key]","statement":"tea"}`},
		{"a secret in pieces, beside others", `{"statement":"\u0041` + awsKey[1:] + `","statement":"tea"}` + "\n" + `{"a":"b"}`, `{"a":"b"}` + "\n"},
		{"a secret in pieces, in what is skipped", `It is \u0041` + awsKey[1:] + "\n" + `{"a":"b"}`, `{"a":"b"}` + "\n"},
		{"pieces of no secret", `Well \u0041 {"a":"\u8336"}`, `Well \u0041 {"a":"\u8336"}`},
		{"a password before a quotation mark", `{"statement":"wifi password: hunter2","evidence":[{"message":1,"quote":"wifi password: hunter2"}]}`,
			`{"evidence":[{"message":1,"quote":"wifi password: [secret:password]"}],"statement":"wifi password: [secret:password]"}` + "\n"},
		{"an address", `{"statement":"Ada reads ada@example.org","evidence":[{"message":12,"quote":"ada@example.org"}]}`,
			`{"evidence":[{"message":12,"quote":"[pii:email]"}],"statement":"Ada reads [pii:email]"}` + "\n"},
		{"numbers stay as they are written", `{"a":12345678901234567890,"b":"` + awsKey + `"}`, `{"a":12345678901234567890,"b":"[secret:aws-key]"}` + "\n"},
		{"keys, numbers, and what is named", `{"` + awsKey + `":1,"card":4111111111111111,"pin":[4821],"password":"hunter22x","n":5}`,
			`{"[secret:aws-key]":1,"card":"[secret:bank-card]","n":5,"password":"[secret:password]","pin":["[secret:pin]"]}` + "\n"},
		{"an impression", `{"key":"wifi_password_2","value":"Sunny-Day9"}`, `{"key":"wifi_password_2","value":"[secret:wifi-password]"}` + "\n"},
		{"what JSON makes of a name", `{"key":"favourite_food","value":"5742f7a9-03ff-430e-a9d6-1403e030af32"}`, `{"key":"favourite_food","value":"5742f7a9-03ff-430e-a9d6-1403e030af32"}`},
		{"a value behind its name", `{"name":"client secret","value":"3f2b9c1d-8e4a-4f6b-9a7c-2d5e8f1b3c6a"}`, `{"name":"client secret","value":"[secret:api-key]"}` + "\n"},
		{"far into what is skipped", strings.Repeat("well ", 40) + "it is " + awsKey + "\n" + `{"a":"b"}`, `{"a":"b"}` + "\n"},
		{"prose", "Ada's key is " + awsKey + ", she said.", "Ada's key is [secret:aws-key], she said."},
		{"what is skipped is not kept with it", `{"a":"b"}` + "\n" + `{"statement":"` + awsKey, `{"a":"b"}` + "\n"},
	} {
		got := masked(tt.answer, safety.Privacy{})
		if got != tt.want {
			t.Errorf("%s: %s\nis %s\nwant %s", tt.name, tt.answer, got, tt.want)
		}
		if again := masked(got, safety.Privacy{}); again != got {
			t.Errorf("%s: masked again it is %s", tt.name, again)
		}
	}
	const mail = `{"statement":"Ada reads ada@example.org"}`
	if got := masked(mail, safety.Privacy{PII: safety.PIIAllow}); got != mail {
		t.Errorf("allowed, it is %s", got)
	}
	if got := masked(mail, safety.Privacy{PII: safety.PIIRefuse}); !strings.Contains(got, "[secret:email]") {
		t.Errorf("refused, it is %s", got)
	}
}
