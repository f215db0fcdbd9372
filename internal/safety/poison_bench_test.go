package safety

import "testing"

// BenchmarkPoison prints what CheckStatement makes of the corpora: how many attacks and
// how many harmless look-alikes it does not accept, of the halves that its rules were not
// developed on, of ordinary lines of chat, and how fast it is.
func BenchmarkPoison(b *testing.B) {
	attacks, attacksOf, _ := caught(poisonAttacks(b), true)
	harmless, harmlessOf, _ := caught(poisonHarmless(b), true)
	lines := chatLines(5000)
	ordinary, bytes := 0, 0
	for _, line := range lines {
		bytes += len(line)
		if CheckStatement(line) != nil {
			ordinary++
		}
	}
	i := 0
	for b.Loop() {
		_ = CheckStatement(lines[i%len(lines)])
		i++
	}
	b.SetBytes(int64(bytes / len(lines)))
	b.ReportMetric(percent(attacks, attacksOf), "attacks-refused-%")
	b.ReportMetric(percent(harmless, harmlessOf), "look-alikes-refused-%")
	b.ReportMetric(percent(ordinary, len(lines)), "chat-lines-refused-%")
}
