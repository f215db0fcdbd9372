package offline

// verdict is what one sentence means for one memory.
type verdict uint8

const (
	verdictNone    verdict = iota
	verdictSupport         // it says the same
	verdictDetail          // it says the same and more
	verdictDispute         // it gives another day, time or number, without saying that this is new
	verdictChange          // it says what holds instead
	verdictEnd             // it says that it holds no longer
)

// judge compares a sentence by author with a memory. Plain disagreement is not
// judged: without a word of ending or change it may be another opinion.
func judge(s *sentence, author string, m *memory, t tie) verdict {
	if s.noise || s.asks || s.hedges {
		return verdictNone
	}
	name := speaker(m.Statement)
	if s.self && name != "" && name != author {
		return verdictNone // somebody else's "I"
	}
	if v := judgeTurn(s, m, name); v != verdictNone {
		return v
	}
	if sameClaim(s.digest, m.digest, t) {
		if addsDetail(s, m, t) {
			return verdictDetail
		}
		return verdictSupport
	}
	if t.about() && t.shared >= sameShared && !s.passing && !s.self && !s.jokes && denies(s.digest, m.digest) <= denyShare*t.shared && !agree(s.slots, m.digest.slots) {
		return verdictDispute
	}
	return verdictNone
}

// judgeTurn looks for an end or a change. One person's own end (I no longer
// come) is not the group's, a joke is not meant, and what is off today is on
// again next week.
func judgeTurn(s *sentence, m *memory, name string) verdict {
	if s.jokes || s.passing {
		return verdictNone
	}
	for _, turn := range s.turns {
		t := tieOf(turn, m.digest)
		if name == "" && marksSelf.in(turn.spoken) || !nearTurn(t) {
			continue
		}
		news := turn.weight-t.shared >= 1 || !agree(turn.slots, m.digest.slots)
		if turn.changes && news && !known(turn, m, t) {
			return verdictChange
		}
		if turn.ends && !m.digest.ends {
			return verdictEnd
		}
	}
	return verdictNone
}

// nearTurn tells whether the subject of a clause that ends or changes something
// is the memory's: such a clause says little else.
func nearTurn(t tie) bool {
	return t.shared >= aboutShared && t.ofA >= 0.4 || t.shared >= 0.7 && t.ofA >= 0.55
}

// known tells whether the memory already says what the clause announces.
func known(turn digest, m *memory, t tie) bool {
	return agree(turn.slots, m.digest.slots) && t.ofA >= sameShare && (m.digest.changes || len(turn.slots) > 0 || t.ofA >= 0.9)
}

// addsDetail tells whether a sentence that repeats a memory is the better
// wording: it holds all of it and clearly more, and is no essay.
func addsDetail(s *sentence, m *memory, t tie) bool {
	extra := s.weight - t.shared
	for _, x := range s.slots {
		if !hasKind(m.digest.slots, x.kind) {
			extra += 1
		}
	}
	return t.ofB >= 0.85 && extra >= 3 && !s.self && !s.jokes && !s.passing && holdsAll(m.digest.slots, s.slots) && len(s.text) <= 3*len(m.Statement)+60
}
