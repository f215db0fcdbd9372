package pg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// queue stands between the driver and its link, and keeps statements back that nobody waits for:
// they travel with the next one that is waited for, in one round trip. The driver, which cannot
// do that, is told that they succeeded. If one fails, the server skips what follows it, and
// the statement that is waited for fails with its error.
//
// It speaks PostgreSQL's extended protocol: https://www.postgresql.org/docs/current/protocol-flow.html
type queue struct {
	hold bool   // what the driver writes is kept back
	out  []byte // requests kept back, without their Sync
	sent int    // how often something was sent
	told []byte // answers that we made up, or had kept, for the driver to read
	owed []owed // requests whose answers are to come, and not for the driver
	in   []byte // answers that have come, and that nobody has read

	ask   *question // what is kept back is asked by it; nil: nobody wants to know
	serve *question // whose answers the driver's next request is for, which is not sent again
}

// question is a statement that was kept back, and whose answers are read later: the driver then
// writes it once more.
type question struct {
	answers []byte // but for the last, that the server is ready
	done    bool   // they are all there
}

// owed is a request by its type, and whose answers its own are; nil: nobody's.
type owed struct {
	kind byte
	to   *question
}

// Types of messages. Those of requests and of answers overlap.
const (
	reqParse, reqBind, reqDescribe, reqExecute, reqSync, reqQuery, reqTerminate = 'P', 'B', 'D', 'E', 'S', 'Q', 'X'
	// reqMayDescribe is a Describe of ours: the driver asked for none, and knows only rows as an answer.
	reqMayDescribe = 'd'

	ansError, ansRow, ansRowDescription, ansNotice, ansParameter, ansNotification = 'E', 'D', 'T', 'N', 'S', 'A'
)

// answerOf is what a request is answered by where nothing is to be told.
var answerOf = map[byte][]byte{
	reqParse:    {'1', 0, 0, 0, 4},
	reqBind:     {'2', 0, 0, 0, 4},
	reqDescribe: {'n', 0, 0, 0, 4},
	reqExecute:  message('C', "SELECT 0\x00"),
	reqSync:     message('Z', "T"),
}

// message frames a message.
func message(kind byte, body string) []byte {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(m, body...)
}

// next cuts the first message off b; ok is false while it is incomplete.
func next(b []byte) (m, rest []byte, ok bool) {
	if len(b) < 5 {
		return nil, b, false
	}
	n := 1 + int(binary.BigEndian.Uint32(b[1:]))
	if len(b) < n {
		return nil, b, false
	}
	return b[:n:n], b[n:], true
}

// asExtended is a simple query, of one statement as all are that are kept back, in messages that can be kept back.
func asExtended(query []byte) []byte {
	text := string(bytes.TrimSuffix(query[5:], []byte{0}))
	var b []byte
	b = append(b, message(reqParse, "\x00"+text+"\x00\x00\x00")...)
	b = append(b, message(reqBind, "\x00\x00\x00\x00\x00\x00\x00\x00")...)
	b = append(b, message(reqDescribe, "P\x00")...)
	b = append(b, message(reqExecute, "\x00\x00\x00\x00\x00")...)
	return append(b, message(reqSync, "")...)
}

// written takes what the driver writes, and returns what is to be sent now.
func (q *queue) written(p []byte) ([]byte, error) {
	if s := q.serve; s != nil && !q.hold {
		switch {
		case s.done:
			q.told, q.serve = slices.Concat(s.answers, answerOf[reqSync]), nil
			return nil, nil
		case len(q.out) == 0:
			q.serve = nil
			return nil, errors.New("what was asked was never answered")
		}
		q.sent++
		p, q.out = append(q.out, message(reqSync, "")...), nil
		return p, nil
	}
	if !q.hold {
		q.sent++
	}
	if !q.hold && (len(q.out) == 0 || p[0] == reqTerminate) {
		return p, nil
	}
	simple := p[0] == reqQuery
	if simple {
		p = asExtended(p)
	}
	if !q.hold {
		p = append(q.out, p...)
		if simple {
			q.owed = append(q.owed, owed{kind: reqParse}, owed{kind: reqBind}, owed{kind: reqMayDescribe})
		}
		q.out = nil
		return p, nil
	}
	for len(p) > 0 {
		m, rest, ok := next(p)
		if !ok || answerOf[m[0]] == nil {
			return nil, errors.New("this request of the driver cannot be kept back")
		}
		p = rest
		if m[0] != reqSync {
			q.out = append(q.out, m...)
			q.owed = append(q.owed, owed{m[0], q.ask})
		}
		if !simple || m[0] == reqExecute || m[0] == reqSync { // a simple query is answered by no more
			q.told = append(q.told, answerOf[m[0]]...)
		}
	}
	return nil, nil
}

// keep keeps an answer to the first request that is owed one, for whoever wants to know.
func (q *queue) keep(m []byte) {
	if to := q.owed[0].to; to != nil {
		to.answers = append(to.answers, m...)
		to.done = q.owed[0].kind == reqExecute && m[0] != ansRow
	}
}

// drop forgets what was kept back and is not sent.
func (q *queue) drop() {
	for out := q.out; len(out) > 0; {
		_, out, _ = next(out)
		q.owed = q.owed[:len(q.owed)-1]
	}
	q.out, q.serve = nil, nil
}

// flush returns what was kept back, to be sent now though nobody waits for its answers.
func (q *queue) flush() []byte {
	out := append(q.out, message(reqSync, "")...)
	q.owed = append(q.owed, owed{kind: reqSync})
	q.out = nil
	q.sent++
	return out
}

// read hands the driver what there is for it. more tells that the link is to be read first.
func (q *queue) read(p []byte) (n int, more bool) {
	from := &q.told
	if len(q.told) == 0 {
		q.settle()
		from = &q.in
		if len(q.owed) > 0 {
			return 0, true
		}
	}
	n = copy(p, *from)
	*from = (*from)[n:]
	return n, false
}

// settle takes the answers that are owed out of what has come.
func (q *queue) settle() {
	var kept []byte // what is for the driver, whatever it waits for
	for len(q.owed) > 0 {
		m, rest, ok := next(q.in)
		if !ok {
			break
		}
		q.in = rest
		switch m[0] {
		case ansRow:
			q.keep(m)
		case ansNotice, ansParameter, ansNotification:
			kept = append(kept, m...)
		case ansError:
			// The server skips to the Sync of whoever waits, or of one that nobody waited for.
			if sync := slices.Index(q.owed, owed{kind: reqSync}); sync >= 0 {
				q.owed = q.owed[sync:]
				continue
			}
			q.owed, q.serve = nil, nil
			kept = append(kept, m...)
		default:
			if m[0] == ansRowDescription && q.owed[0].kind == reqMayDescribe {
				kept = append(kept, m...)
			}
			q.keep(m)
			q.owed = q.owed[1:]
		}
	}
	if s := q.serve; len(q.owed) == 0 && s != nil && s.done {
		kept, q.serve = append(kept, s.answers...), nil
	}
	if len(kept) > 0 {
		q.in = append(kept, q.in...)
	}
}
