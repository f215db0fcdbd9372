package recall

import "math"

// References says for each statement that was offered how sure it is, from 0 to 1,
// that the response to the query was made with it; from 0.5 on it more likely was
// than not.
//
// It goes by what stands in both: words of scripts with spaces by their stems,
// pairs of neighbouring Han characters, names, numbers, days and times. What the
// query says already counts little, and so does what most of the statements share
// or any answer says; names and numbers count most. Only two neighbouring
// sentences of the response count at a time, the best two, so that a long answer
// does not repeat everything by chance. Numbers, days and times are the same however
// they are written (40k and 40,000, the 12th and March 12, two weeks and 14 days), and
// a negation that asks or suggests ("why not", 要不要) denies nothing. A number, day or time that has another value in
// the answer, and a word that only one of the two denies, speak against it; and a
// sentence that says that nothing is known speaks for nothing.
//
// It knows spelling, not meaning: an answer that puts a memory into other words,
// or into another language, is not recognised.
func References(query, response string, statements []string) []float64 {
	o := newOffer(query, response, statements)
	scores := make([]float64, len(statements))
	for i := range statements {
		scores[i] = o.reference(i).score(len(o.answer.sentences))
	}
	return scores
}

// How likely a reference is, by how much is found again. Fitted on
// testdata/references.jsonl so that 0.5 is the best threshold.
const (
	leastFound   = 0.3  // less than this is nothing
	halfAt       = 1.5  // words found, as adjusted below, at which a reference is as likely as not
	wholeGain    = 1.4  // for having found all that the statement says
	closeGain    = 1.5  // for sentences that say nothing else
	lengthCost   = 0.5  // for each doubling of the answer, nearly
	conflictKeep = 0.45 // of the score, where a number has another value: that is no use
)

// reference is what an answer and a statement have in common, in the two
// neighbouring sentences of the answer where that is most. Weights count words.
type reference struct {
	found    float64 // stands in both
	whole    float64 // all that the statement says
	around   float64 // all that these sentences say, besides what was asked
	conflict bool    // a number of the statement has another value there
}

// score is how likely the reference is, in an answer of so many sentences.
func (r reference) score(sentences int) float64 {
	if r.found <= leastFound || r.whole <= 0 || r.around <= 0 {
		return 0
	}
	found := r.found * (1 + wholeGain*min(r.found/r.whole, 1) + closeGain*min(r.found/r.around, 1))
	found /= 1 + lengthCost*math.Log(max(1, float64(sentences)/2))
	score := 1 - math.Exp2(-found/halfAt)
	if r.conflict {
		score *= conflictKeep
	}
	return score
}
