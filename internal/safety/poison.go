package safety

import (
	"slices"
	"sync"
)

// plants are statements that read like facts and act like orders: they plant trust,
// rights, payment details, exceptions to a safeguard, or a memory of something that never
// was. Some could be true of a group, so a person decides.
var plants = sync.OnceValue(func() *patterns {
	return newPatterns(slices.Concat(englishPlants(), chinesePlants(), consents(), diversions(), sabotage(), delays(), leanings()))
})

// findPlant returns the first piece of text that plants something, "" without one; text
// has been through plain.
func findPlant(text string) string {
	for _, reading := range readings(text) {
		if at := plants().find(reading); at != "" {
			return at
		}
	}
	return ""
}
