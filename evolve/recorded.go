package evolve

// A run that is run again takes the chunks of the first one, and their answers. What
// becomes of an answer is found out anew: by the rules, limits and prompts of now.

// recorded tells whether the run is run again.
func (r *run) recorded() bool { return len(r.req.Recorded) > 0 }

// nextRecorded takes up the next chunk, or says that there is none.
func (r *run) nextRecorded() bool {
	n := r.life.Stats.Chunks
	if n >= len(r.req.Recorded) {
		return false
	}
	r.resume = &r.req.Recorded[n]
	return true
}
