package text

import (
	"strings"
	"testing"
)

// A long message costs as much a byte as a statement does.
func BenchmarkFigures(b *testing.B) {
	for name, s := range map[string]string{
		"en": "The group meets on Friday at 7:30, and twenty five people bring 3 kg of cake to the old harbour. ",
		"zh": "大家说好以后每周五晚上八点一起打游戏，输的人请喝三杯奶茶，小王负责订位。",
	} {
		for size, n := range map[string]int{"/statement": 1, "/message": 200} {
			text := Simplify(Fold(strings.Repeat(s, n)))
			b.Run(name+size, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Figures(text)
				}
			})
		}
	}
}
