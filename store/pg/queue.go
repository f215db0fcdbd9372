package pg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// queue sits between the driver and its link. It queues statements whose results nobody waits for, and sends them with
// the next statement that waits, in one round trip. The driver has no such feature, so the queue tells it that these
// statements succeeded. If one fails, the server skips the following ones, and the statement that waits fails with that
// error.
//
// It speaks PostgreSQL's extended protocol: https://www.postgresql.org/docs/current/protocol-flow.html
type queue struct {
	hold   bool   // queue what the driver writes
	out    []byte // queued requests, without their Sync
	sent   int    // how often something was sent
	madeUp []byte // made-up or stored answers for the driver to read
	owed   []owed // requests whose answers are still to come, and which the driver must not see
	in     []byte // received answers that nobody has read

	ask   *question // the question that queued requests belong to; nil: their results are dropped
	serve *question // the driver's next request only fetches the answers of this question, and is not sent
}

// question is a queued statement whose answers are read later. To read them, the driver writes the statement once more.
type question struct {
	answers []byte // without the last one, ReadyForQuery
	done    bool   // all answers have come
}

// owed is the type of a request, and the question that gets its answers; nil drops them.
type owed struct {
	kind byte
	to   *question
}

// Types of messages. The same letters mean other things in requests and in answers.
const (
	reqParse, reqBind, reqDescribe, reqExecute, reqSync, reqQuery, reqTerminate = 'P', 'B', 'D', 'E', 'S', 'Q', 'X'
	// reqMayDescribe is a Describe that we have added: the driver did not ask for one, and only expects rows as an
	// answer.
	reqMayDescribe = 'd'

	ansError, ansRow, ansRowDescription, ansNotice, ansParameter, ansNotification = 'E', 'D', 'T', 'N', 'S', 'A'
)

// answerOf is the answer to each type of request that the driver is told for a queued statement.
var answerOf = map[byte][]byte{
	reqParse:    {'1', 0, 0, 0, 4},
	reqBind:     {'2', 0, 0, 0, 4},
	reqDescribe: {'n', 0, 0, 0, 4},
	reqExecute:  message('C', "SELECT 0\x00"),
	reqSync:     message('Z', "T"),
}

// message encodes a message.
func message(kind byte, body string) []byte {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(m, body...)
}

// next splits the first message from b; ok is false while it is incomplete.
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

// asExtended converts a simple query into messages that can be queued. Queued queries have one statement each.
func asExtended(query []byte) []byte {
	text := string(bytes.TrimSuffix(query[5:], []byte{0}))
	var b []byte
	b = append(b, message(reqParse, "\x00"+text+"\x00\x00\x00")...)
	b = append(b, message(reqBind, "\x00\x00\x00\x00\x00\x00\x00\x00")...)
	b = append(b, message(reqDescribe, "P\x00")...)
	b = append(b, message(reqExecute, "\x00\x00\x00\x00\x00")...)
	return append(b, message(reqSync, "")...)
}

// written takes what the driver writes, and returns what must be sent now.
func (q *queue) written(p []byte) ([]byte, error) {
	if s := q.serve; s != nil && !q.hold {
		switch {
		case s.done:
			q.madeUp, q.serve = slices.Concat(s.answers, answerOf[reqSync]), nil
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
		if !simple || m[0] == reqExecute || m[0] == reqSync { // a simple query has no other answers
			q.madeUp = append(q.madeUp, answerOf[m[0]]...)
		}
	}
	return nil, nil
}

// keep stores an answer for the question of the first open request.
func (q *queue) keep(m []byte) {
	if to := q.owed[0].to; to != nil {
		to.answers = append(to.answers, m...)
		to.done = q.owed[0].kind == reqExecute && m[0] != ansRow
	}
}

// drop removes the queued requests without sending them.
func (q *queue) drop() {
	for out := q.out; len(out) > 0; {
		_, out, _ = next(out)
		q.owed = q.owed[:len(q.owed)-1]
	}
	q.out, q.serve = nil, nil
}

// flush returns the queued requests with a Sync, to be sent now without waiting.
func (q *queue) flush() []byte {
	out := append(q.out, message(reqSync, "")...)
	q.owed = append(q.owed, owed{kind: reqSync})
	q.out = nil
	q.sent++
	return out
}

// read gives the driver the next answers. more means that the caller must first read from the link.
func (q *queue) read(p []byte) (n int, more bool) {
	from := &q.madeUp
	if len(q.madeUp) == 0 {
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

// settle removes the answers to owed requests from the received ones.
func (q *queue) settle() {
	var kept []byte // the driver gets these in any case
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
			// After an error the server skips to the next Sync: that of the statement that waits, or one that was sent
			// by flush.
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
