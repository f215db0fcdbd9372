package text

// Each applies of to each element of list. The result is never nil.
func Each[From, To any](list []From, of func(From) To) []To {
	made := make([]To, len(list))
	for i, v := range list {
		made[i] = of(v)
	}
	return made
}
