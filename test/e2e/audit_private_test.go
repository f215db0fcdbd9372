package e2e

import (
	"path/filepath"
	"testing"
)

// TestAuditOfCitedData: quotes of e-mail addresses, phone and identity numbers, cards, keys and passwords, in both
// languages, are found where they were said: after the night, once exported and imported, and after an erasure.
func TestAuditOfCitedData(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.set("REVERIE_EMBED_PROVIDER=offline", impressionsOn)
	s.bring("cited", append(chat("2025-03-03",
		"note Zhao writes from zhao.min+zine@mail.example.cn", "note 韩梅的邮箱是 hanmei@qq.example.com，电话 139-1234-5678",
		"note The parcel goes to Rui | his ID card is 11010519491231002X", "note 快递寄给小芮 | 身份证号码：11010519491231002X，密码是 Qw7#kd92Lp",
		"note The shop takes cards | mine is 4111 1111 1111 1111, call (415) 555-0134", "note 服务器在机房 | 口令：hunter2-Xy9z！别外传",
		"note The API needs a key | sk-proj-abcdEFGH1234abcdEFGH1234abcdEFGH1234abcdEFGH1234"),
		chat("2025-03-04", "self mail mia@example.org", "self 电话 13912345678")...)...)
	s.run("evolve", "--group", "cited").want(t, 0)
	s.run("audit").want(t, 0).silent(t)
	if n := s.one(`select count(*) from memory_evidence where quote ~ '\[(pii|secret):'`); n == "0" {
		t.Error("no quote is masked")
	}
	if n := s.one(`select count(*) from memory_evidence where quote ~ '11010519491231002X|4111 1111|hunter2|Qw7#|sk-proj-abcd|hanmei@|139-1234'`); n != "0" {
		t.Errorf("%s quotes have what is private", n)
	}
	file := filepath.Join(t.TempDir(), "memories.jsonl")
	s.run("memory", "export", "--group", "cited", "-o", file).want(t, 0)

	other := newStage(t)
	other.set("REVERIE_EMBED_PROVIDER=offline")
	other.run("memory", "import", file).want(t, 0)
	other.run("audit").want(t, 0)

	s.run("erase", "--author", "lin", "--group", "cited", "--yes").want(t, 0)
	s.run("audit").want(t, 0)
}
