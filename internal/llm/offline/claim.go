package offline

import "slices"

// When two sentences are taken to say the same, or to be about the same.
// Weights count words that carry content (a Han character is half of one);
// shares are of the shorter of the two. The more words they share, the smaller
// the share may be: people say a thing again inside longer sentences.
const (
	sameShared  = 2.0
	sameShare   = 0.6
	muchShared  = 2.5
	muchShare   = 0.48
	mostShared  = 4.0
	mostShare   = 0.38
	sameCosine  = 0.3
	denyShare   = 0.35 // of the shared words, negated in one only
	aboutShared = 1.5
	aboutShare  = 0.48
)

// tie is what a sentence and something else have in common.
type tie struct {
	shared float64 // weight of the common terms
	ofA    float64 // share of a's terms
	ofB    float64
}

func tieOf(a, b digest) tie {
	t := tie{shared: shared(a, b)}
	if a.weight > 0 && b.weight > 0 {
		t.ofA, t.ofB = t.shared/a.weight, t.shared/b.weight
	}
	return t
}

// share of the one that says less.
func (t tie) share() float64 { return max(t.ofA, t.ofB) }

// about tells whether both are about the same subject.
func (t tie) about() bool { return t.shared >= aboutShared && t.share() >= aboutShare }

// sameClaim tells whether a and b say the same: the same content, no detail that
// differs, and neither denies it alone.
func sameClaim(a, b digest, t tie) bool {
	much := t.shared >= sameShared && t.share() >= sameShare || t.shared >= muchShared && t.share() >= muchShare ||
		t.shared >= mostShared && t.share() >= mostShare
	return much && a.ends == b.ends && denies(a, b) <= denyShare*t.shared && agree(a.slots, b.slots) && cosine(a, b) >= sameCosine
}

// commonFrom is how many sentences make a sample in which a term's frequency
// says something; commonShare is the share of them from which a term is the
// chat's own small talk ("ubuntu" in a channel about it).
const (
	commonFrom  = 40
	commonShare = 0.15
	commonDamp  = 0.3
)

// dampCommon lowers the weight of terms that every other sentence holds.
func dampCommon(digests []*digest) {
	if len(digests) < commonFrom {
		return
	}
	counts := make(map[uint64]int)
	for _, d := range digests {
		for _, t := range d.terms {
			counts[t.hash]++
		}
	}
	limit := int(commonShare * float64(len(digests)))
	for _, d := range digests {
		d.weight = 0
		for i := range d.terms {
			if counts[d.terms[i].hash] > limit {
				d.terms[i].weight *= commonDamp
			}
			d.weight += d.terms[i].weight
		}
	}
}

// holdsAll tells whether every kind of slot that old has is also in new.
func holdsAll(old, new []slot) bool {
	return !slices.ContainsFunc(old, func(s slot) bool { return !hasKind(new, s.kind) })
}
