package pg

import (
	"bytes"
	"slices"
	"testing"
)

// answers are what a server says, one message of each of these kinds.
func answers(kinds string) (b []byte) {
	for _, kind := range []byte(kinds) {
		b = append(b, message(kind, string(kind)+"\x00")...)
	}
	return b
}

func kinds(b []byte) (s string) {
	for len(b) > 0 {
		var m []byte
		m, b, _ = next(b)
		s += string(m[0])
	}
	return s
}

// ask writes a statement with arguments as the driver does, and reads its answers.
func ask(t *testing.T, q *queue, hold bool) (sent []byte) {
	t.Helper()
	q.hold = hold
	sent, err := q.written(slices.Concat(message(reqBind, "b"), message(reqExecute, "e"), message(reqSync, "")))
	if err != nil {
		t.Fatal(err)
	}
	q.hold = false
	return sent
}

func read(q *queue) []byte {
	var b [7]byte
	var all []byte
	for {
		n, more := q.read(b[:])
		if all = append(all, b[:n]...); n == 0 || more {
			return all
		}
	}
}

// However the network cuts what the server says, the driver reads what its statement is answered by.
func TestQueueCuts(t *testing.T) {
	for _, c := range []struct{ name, says, want string }{
		{"rows of what was kept back are nobody's", "12nC" + "2DDC" + "2DCZ", "2DCZ"},
		{"notices are the driver's", "12nNC" + "N2C" + "S2DCZ", "NNS2DCZ"},
		{"an error is of the statement that is waited for", "12nC" + "E" + "Z", "EZ"},
		{"an error of its own", "12nC" + "2C" + "2EZ", "2EZ"},
	} {
		says := answers(c.says)
		for cut := range len(says) {
			q := &queue{}
			if sent, err := holdBegin(q); len(sent) > 0 || err != nil {
				t.Fatalf("sent %q, %v", sent, err)
			}
			if got := kinds(read(q)); got != "CZ" { // as a simple query is answered
				t.Fatalf("BEGIN is answered by %q", got)
			}
			if sent := ask(t, q, true); len(sent) > 0 || kinds(read(q)) != "2CZ" {
				t.Fatalf("sent %q", sent)
			}
			if sent := kinds(ask(t, q, false)); sent != "PBDEBEBES" {
				t.Fatalf("sent %s", sent)
			}
			q.in = append(q.in, says[:cut]...)
			got := read(q)
			q.in = append(q.in, says[cut:]...)
			if got = append(got, read(q)...); kinds(got) != c.want {
				t.Fatalf("%s, cut at %d: %s, want %s", c.name, cut, kinds(got), c.want)
			}
			if len(q.owed)+len(q.in)+len(q.madeUp)+len(q.out) > 0 {
				t.Fatalf("%s: %+v is left", c.name, q)
			}
		}
	}
}

func holdBegin(q *queue) ([]byte, error) {
	q.hold = true
	defer func() { q.hold = false }()
	return q.written(message(reqQuery, "BEGIN\x00"))
}

// What nobody waits for is answered before what comes next, and its error is nobody's.
func TestQueueFlush(t *testing.T) {
	for _, says := range []string{"12nCZ", "EZ"} {
		q := &queue{}
		_, err := holdBegin(q)
		if err != nil {
			t.Fatal(err)
		}
		read(q)
		if sent := kinds(q.flush()); sent != "PBDES" {
			t.Errorf("sent %s", sent)
		}
		if sent := kinds(ask(t, q, false)); sent != "BES" {
			t.Errorf("sent %s", sent)
		}
		q.in = answers(says + "2DCZ")
		if got := kinds(read(q)); got != "2DCZ" {
			t.Errorf("after %s: %s", says, got)
		}
	}
}

// A simple query behind what is kept back is sent so that an error before it ends it, too.
func TestQueueSimple(t *testing.T) {
	for says, want := range map[string]string{"12nC" + "12TDCZ": "TDCZ", "12nC" + "12nCZ": "CZ", "EZ": "EZ"} {
		q := &queue{}
		if _, err := holdBegin(q); err != nil {
			t.Fatal(err)
		}
		read(q)
		sent, err := q.written(message(reqQuery, "select 1\x00"))
		if err != nil || kinds(sent) != "PBDEPBDES" || !bytes.Contains(sent, []byte("\x00select 1\x00")) {
			t.Fatalf("sent %q, %v", sent, err)
		}
		q.in = answers(says)
		if got := kinds(read(q)); got != want {
			t.Errorf("%s is read as %s, want %s", says, got, want)
		}
	}
}

// What was kept back and not sent is forgotten.
func TestQueueDrop(t *testing.T) {
	q := &queue{}
	ask(t, q, false)
	if _, err := holdBegin(q); err != nil {
		t.Fatal(err)
	}
	read(q)
	q.drop()
	if len(q.out)+len(q.owed) > 0 || kinds(ask(t, q, false)) != "BES" {
		t.Errorf("%+v is left", q)
	}
}

// What is asked is sent with what is waited for, and its answer is given when the driver writes it once more.
func TestQueueAsked(t *testing.T) {
	for _, first := range []bool{true, false} { // it is read before anything else is waited for
		q, asked := &queue{}, &question{}
		q.ask = asked
		if sent := ask(t, q, true); len(sent) > 0 || kinds(read(q)) != "2CZ" {
			t.Fatalf("sent %q", sent)
		}
		q.ask = nil
		if first {
			q.serve = asked
		}
		want := map[bool]string{true: "BES", false: "BEBES"}[first]
		if sent := kinds(ask(t, q, false)); sent != want {
			t.Fatalf("sent %s", sent)
		}
		says := answers(map[bool]string{true: "2DDCZ", false: "2DDC" + "N2CZ"}[first])
		var got []byte
		for i := range says { // byte by byte
			q.in = append(q.in, says[i])
			got = append(got, read(q)...)
		}
		if !first {
			if kinds(got) != "2NCZ" && kinds(got) != "N2CZ" {
				t.Errorf("what is waited for reads %s", kinds(got))
			}
			q.serve = asked
			if sent := ask(t, q, false); len(sent) > 0 {
				t.Errorf("sent again: %s", kinds(sent))
			}
			got = read(q)
		}
		if kinds(got) != "2DDCZ" || len(q.owed)+len(q.in)+len(q.madeUp)+len(q.out) > 0 {
			t.Errorf("read %s; %+v is left", kinds(got), q)
		}
	}
	q := &queue{ask: &question{}}
	ask(t, q, true)
	read(q)
	q.drop()
	q.serve, q.ask = q.ask, nil
	if _, err := q.written(message(reqSync, "")); err == nil {
		t.Error("an answer that never comes is waited for")
	}
}
