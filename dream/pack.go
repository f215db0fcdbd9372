package dream

// pack divides material into questions of so many tokens. The order stays, and each source
// is in exactly one question; one that is too long for any has a question of its own. A
// session is divided only where it does not fit a question alone.
func pack(b batch, room int, tokens func(batch) int) (list []batch) {
	var open batch
	used := 0
	put := func(part batch) {
		cost := tokens(part)
		if len(open) > 0 && used+cost > room {
			list, open, used = append(list, open), nil, 0
		}
		open, used = append(open, part...), used+cost
	}
	for len(b) > 0 {
		n := 1 // of what stays together: a session
		for n < len(b) && b[n].with(b[0]) {
			n++
		}
		for fits := tokens(b[:n]) <= room; n > 0; {
			part := n
			if !fits {
				for part = 1; part < n && tokens(b[:part+1]) <= room; {
					part++
				}
			}
			put(b[:part])
			b, n = b[part:], n-part
		}
	}
	if len(open) > 0 {
		list = append(list, open)
	}
	return list
}
