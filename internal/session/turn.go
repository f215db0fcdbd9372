package session

import "reverie/internal/reverie"

// outline says where turns lie in messages that follow each other. A turn is what
// users say up to the next word of an assistant; what comes after that word,
// before a user speaks again, still belongs to it.
type outline struct {
	n      int
	starts []int // with which messages a turn begins
	ends   []int // which messages answer one: each counts a turn
	open   int   // where the turn begins that nobody has answered; n if there is none
}

// outlineOf divides messages. asking tells that before the first of them somebody
// had spoken and was not answered yet.
func outlineOf(messages []reverie.Message, asking bool) outline {
	o := outline{n: len(messages)}
	for i, m := range messages {
		switch m.Role {
		case reverie.RoleUser:
			if !asking {
				o.starts, o.open = append(o.starts, i), i
			}
			asking = true
		case reverie.RoleAssistant:
			if asking {
				o.ends = append(o.ends, i)
			}
			asking = false
		}
	}
	if !asking {
		o.open = o.n
	}
	return o
}

// startOf is where the turn of message i begins, 0 if before the first message.
func (o outline) startOf(i int) int {
	start := 0
	for _, s := range o.starts {
		if s <= i {
			start = s
		}
	}
	return start
}

// cutBefore is where to cut so that message i and what follows is left out: before
// a turn, or inside one that is longer than that.
func (o outline) cutBefore(i int) int {
	if start := o.startOf(i); start > 0 {
		return start
	}
	return i
}

// older is how many messages lie before the newest turns that are to be kept, of
// those that were answered. A turn without an answer is kept besides.
func (o outline) older(keep int) int {
	switch {
	case len(o.ends) <= keep:
		return 0
	case keep == 0:
		return o.open
	}
	return o.startOf(o.ends[len(o.ends)-keep])
}

// turns counts those that end among the first n messages.
func (o outline) turns(n int) (count int) {
	for _, end := range o.ends {
		if end < n {
			count++
		}
	}
	return count
}
