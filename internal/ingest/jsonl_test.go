package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// shelf is a store in memory. It keeps messages only where it is told to.
type shelf struct {
	keep    bool
	ids     map[string]bool
	list    []reverie.Message
	batches []int
	fails   error
}

func (s *shelf) ChangeMessages(context.Context, string, []reverie.MessageChange) (reverie.ChangeResult, error) {
	return reverie.ChangeResult{}, s.fails
}

func (s *shelf) ImportMessages(_ context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error) {
	if s.fails != nil {
		return reverie.ImportResult{}, s.fails
	}
	s.batches = append(s.batches, len(messages))
	var res reverie.ImportResult
	for _, m := range messages {
		if m.GroupID != groupID {
			return res, fmt.Errorf("message %s is of group %q", m.ID, m.GroupID)
		}
		if !s.keep {
			continue
		}
		if s.ids[m.ID] {
			res.Known++
			continue
		}
		if s.ids == nil {
			s.ids = map[string]bool{}
		}
		s.ids[m.ID] = true
		s.list = append(s.list, m)
		res.New++
	}
	return res, nil
}

// jsonLines imports lines into group g as the command does.
func jsonLines(ctx context.Context, store ingest.Store, r io.Reader, opts ingest.Options) (ingest.Result, error) {
	format, err := ingest.Named("jsonl")
	if err != nil {
		return ingest.Result{}, err
	}
	opts.Group = func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }
	im := ingest.NewImporter(store, opts)
	err = im.Read(ctx, ingest.Source{Name: "-", Reader: r}, format, ingest.ReadOptions{})
	return im.Result(), err
}

// counts are those of a result.
func counts(r ingest.Result) [4]int { return [4]int{r.Records, r.New, r.Known, r.Bad} }

const sent = `"sent_at":"2026-01-15T20:01:00+08:00"`

// TestLine reads one line at a time.
func TestLine(t *testing.T) {
	at := time.Date(2026, 1, 15, 12, 1, 0, 0, time.UTC)
	user := func(id, text string) reverie.Message {
		return reverie.Message{ID: id, AuthorID: "u1", Author: "Lin", Role: reverie.RoleUser, Text: text, SentAt: at}
	}
	long := strings.Repeat("x", reverie.MaxMessageTextLength)
	for name, c := range map[string]struct {
		line string
		want reverie.Message
		err  string // or what is said of the line
	}{
		"whole": {`{"id":"a","author_id":"u1","author":"Lin","role":"assistant","text":"hi",` + sent + `,"session_id":"s","reply_to":"b"}`,
			reverie.Message{ID: "a", AuthorID: "u1", Author: "Lin", Role: reverie.RoleAssistant, Text: "hi", SentAt: at, SessionID: "s", ReplyTo: "b"}, ""},
		"numbers as ids": {`{"id":1234567890123456789,"author_id":7,"author":"Lin","text":"hi",` + sent + `,"reply_to":12}`,
			reverie.Message{ID: "1234567890123456789", AuthorID: "7", Author: "Lin", Role: reverie.RoleUser, Text: "hi", SentAt: at, ReplyTo: "12"}, ""},
		"author only":     {`{"id":"a","author":"Lin","text":"hi",` + sent + `}`, reverie.Message{ID: "a", AuthorID: "Lin", Author: "Lin", Role: "user", Text: "hi", SentAt: at}, ""},
		"author id only":  {`{"id":"a","author_id":"u1","text":"hi",` + sent + `}`, reverie.Message{ID: "a", AuthorID: "u1", Author: "u1", Role: "user", Text: "hi", SentAt: at}, ""},
		"nulls":           {`{"id":"a","author_id":"u1","author":"Lin","role":null,"text":"hi",` + sent + `,"session_id":null,"reply_to":null}`, user("a", "hi"), ""},
		"unknown keys":    {`{"id":"a","author_id":"u1","author":"Lin","text":"hi",` + sent + `,"emoji":[1,{"x":2}]}`, user("a", "hi"), ""},
		"empty text":      {`{"id":"a","author_id":"u1","author":"Lin","text":"",` + sent + `}`, user("a", ""), ""},
		"longest text":    {`{"id":"a","author_id":"u1","author":"Lin","text":"` + long + `",` + sent + `}`, user("a", long), ""},
		"fractions":       {`{"id":"a","author_id":"u1","author":"Lin","text":"hi","sent_at":"2026-01-15T12:01:00.000000999Z"}`, user("a", "hi"), ""},
		"a group":         {`{"id":"a","author_id":"u1","author":"Lin","text":"hi",` + sent + `,"group_id":"h","group":"h"}`, user("a", "hi"), ""},
		"escapes":         {`{"id":"a","author_id":"u1","author":"Lin","text":"\\ud83d \uFFFD",` + sent + `}`, user("a", `\ud83d `+"\uFFFD"), ""},
		"emoji":           {`{"id":"a","author_id":"u1","author":"Lin","text":"\ud83d\ude00 好",` + sent + `}`, user("a", "😀 好"), ""},
		"spaces around":   {"  \t" + `{"id":"a","author_id":"u1","author":"Lin","text":"hi",` + sent + `}` + " \r", user("a", "hi"), ""},
		"newline in text": {`{"id":"a","author_id":"u1","author":"Lin","text":"one\ntwo",` + sent + `}`, user("a", "one\ntwo"), ""},
		"bot's anonymity": {`{"id":"a","role":"tool","text":"42",` + sent + `}`, reverie.Message{ID: "a", Role: reverie.RoleTool, Text: "42", SentAt: at}, ""},

		"no JSON":             {`hello`, reverie.Message{}, "not a message in JSON"},
		"an array":            {`["a"]`, reverie.Message{}, "not a message in JSON"},
		"two objects":         {`{"id":"a"} {"id":"b"}`, reverie.Message{}, "not a message in JSON"},
		"cut off":             {`{"id":"a","text":"hi`, reverie.Message{}, "not a message in JSON"},
		"nothing":             {`null`, reverie.Message{}, "sent_at is missing"},
		"no id":               {`{"author":"Lin","text":"hi",` + sent + `}`, reverie.Message{}, "id is missing"},
		"long id":             {`{"id":"` + strings.Repeat("x", 513) + `","author":"Lin","text":"hi",` + sent + `}`, reverie.Message{}, "id is longer"},
		"bad UTF-8":           {"{\"id\":\"a\",\"author\":\"Lin\",\"text\":\"caf\xe9\"," + sent + "}", reverie.Message{}, "it is not UTF-8"},
		"half a pair":         {`{"id":"a","author":"Lin","text":"\ud83dx",` + sent + `}`, reverie.Message{}, "half a surrogate pair"},
		"the other half":      {`{"id":"a","author_id":"\ud83d\ude00\ude00","author":"Lin","text":"hi",` + sent + `}`, reverie.Message{}, "half a surrogate pair"},
		"id of lost bytes":    {`{"id":"a\uFFFD","author":"Lin","text":"hi",` + sent + `}`, reverie.Message{}, "id holds U+FFFD"},
		"long author":         {`{"id":"a","author":"` + strings.Repeat("x", 513) + `","text":"hi",` + sent + `}`, reverie.Message{}, ": author is longer"},
		"long author id":      {`{"id":"a","author_id":"` + strings.Repeat("x", 513) + `","text":"hi",` + sent + `}`, reverie.Message{}, ": author_id is longer"},
		"a time to come":      {`{"id":"a","author":"Lin","text":"hi","sent_at":"2026-01-17T20:01:00+08:00"}`, reverie.Message{}, "more than a day ahead"},
		"id of another type":  {`{"id":true,"author":"Lin","text":"hi",` + sent + `}`, reverie.Message{}, "neither a string nor a number"},
		"no author":           {`{"id":"a","text":"hi",` + sent + `}`, reverie.Message{}, "author"},
		"no text":             {`{"id":"a","author":"Lin",` + sent + `}`, reverie.Message{}, "text is missing"},
		"text is null":        {`{"id":"a","author":"Lin","text":null,` + sent + `}`, reverie.Message{}, "text is missing"},
		"text is a list":      {`{"id":"a","author":"Lin","text":["hi"],` + sent + `}`, reverie.Message{}, "text is a JSON array"},
		"text too long":       {`{"id":"a","author":"Lin","text":"` + long + `x",` + sent + `}`, reverie.Message{}, "text is longer"},
		"unknown role":        {`{"id":"a","author":"Lin","role":"system","text":"hi",` + sent + `}`, reverie.Message{}, `role "system"`},
		"no time":             {`{"id":"a","author":"Lin","text":"hi"}`, reverie.Message{}, "sent_at is missing"},
		"a time without zone": {`{"id":"a","author":"Lin","text":"hi","sent_at":"2026-01-15T20:01:00"}`, reverie.Message{}, "not RFC 3339"},
		"seconds since 1970":  {`{"id":"a","author":"Lin","text":"hi","sent_at":1768478460}`, reverie.Message{}, "sent_at"},
		"a time out of range": {`{"id":"a","author":"Lin","text":"hi","sent_at":"0001-01-01T00:00:00Z"}`, reverie.Message{}, "sent_at"},
		"NUL":                 {`{"id":"a","author":"Lin","text":"a\u0000b",` + sent + `}`, reverie.Message{}, "NUL"},
		"NUL in the id":       {`{"id":"a\u0000","author":"Lin","text":"hi",` + sent + `}`, reverie.Message{}, "NUL"},
		"a bare NUL":          {"{\"id\":\"a\",\"author\":\"Lin\",\"text\":\"a\x00b\"," + sent + "}", reverie.Message{}, "not a message in JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{keep: true}
			var said []string
			res, err := jsonLines(t.Context(), s, strings.NewReader(c.line+"\n"), ingest.Options{Now: func() time.Time { return at },
				OnBad: func(b *ingest.Bad) { said = append(said, b.Error()) }})
			if err != nil {
				t.Fatal(err)
			}
			if c.err != "" {
				if counts(res) != [4]int{1, 0, 0, 1} || len(said) != 1 || !strings.HasPrefix(said[0], "line 1: ") || !strings.Contains(said[0], c.err) {
					t.Errorf("%+v, said %q", res, said)
				}
				return
			}
			c.want.GroupID = "g"
			if counts(res) != [4]int{1, 1, 0, 0} || len(said) != 0 || len(s.list) != 1 || !reflect.DeepEqual(s.list[0], c.want) {
				t.Errorf("%+v, said %q, stored %+v", res, said, s.list)
			}
		})
	}
}

// imported opens a stream, finds its format, and imports it.
func imported(t *testing.T, store ingest.Store, r io.Reader, opts ingest.Options) (ingest.Result, error) {
	t.Helper()
	in, err := ingest.Open(t.Context(), "-", r)
	if err != nil {
		return ingest.Result{}, err
	}
	opts.Group = func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }
	im := ingest.NewImporter(store, opts)
	_, _, err = im.Input(t.Context(), in, ingest.Auto, ingest.ReadOptions{})
	return im.Result(), err
}

func message(id string) string {
	return `{"id":"` + id + `","author":"Lin","text":"hi",` + sent + `}`
}

// TestFile reads files as they come: with a mark in front, Windows' ends of
// lines, blank lines, no end to the last one, and bad lines among the good.
func TestFile(t *testing.T) {
	tooLong := strings.Repeat("x", 4<<20+1)
	gbk, err := simplifiedchinese.GB18030.NewEncoder().String(strings.ReplaceAll(message("周四")+"\n"+message("我来烧"), "hi", "好的，记得带釉料"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		ids  []string
		bad  []string
	}{
		"empty":                 {"", nil, nil},
		"blank":                 {"\n \n\r\n\t\n", nil, nil},
		"no end":                {message("a") + "\n" + message("b"), []string{"a", "b"}, nil},
		"windows":               {message("a") + "\r\n" + message("b") + "\r\n", []string{"a", "b"}, nil},
		"byte order mark":       {"\ufeff" + message("a") + "\n" + message("b") + "\n", []string{"a", "b"}, nil},
		"a mark alone":          {"\ufeff", nil, nil},
		"a mark further on":     {message("a") + "\n\ufeff" + message("b") + "\n", []string{"a", "b"}, nil},
		"an array":              {"[" + message("a") + ",\n" + message("b") + "]\n", []string{"a", "b"}, nil},
		"an array, one is bad":  {"[" + message("a") + ",7," + message("b") + "]\n", []string{"a", "b"}, []string{"element 2"}},
		"blank lines count":     {"\n" + message("a") + "\n\nbad\n" + message("b"), []string{"a", "b"}, []string{"line 4"}},
		"GB18030":               {gbk, []string{"周四", "我来烧"}, nil},
		"a line of GBK":         {message("周四我来烧") + "\n" + gbk[:len(gbk)/2], []string{"周四我来烧"}, []string{"line 2"}},
		"the same id twice":     {message("a") + "\n" + message("a") + "\n", []string{"a"}, nil},
		"long line":             {message("a") + "\n" + tooLong + "\n" + message("b") + "\n", []string{"a", "b"}, []string{"line 2"}},
		"long line at the end":  {message("a") + "\n" + tooLong, []string{"a"}, []string{"line 2"}},
		"long line, then blank": {message("a") + "\n" + tooLong + "\n\n" + message("b"), []string{"a", "b"}, []string{"line 2"}},
		"longest line":          {strings.Repeat(" ", 4<<20-len(message("a"))-1) + message("a") + "\n" + message("b"), []string{"a", "b"}, nil},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with the end": iotest.DataErrReader} {
			if len(c.file) > 1<<20 && way != "at once" {
				continue
			}
			s := &shelf{keep: true}
			var bad []string
			res, err := imported(t, s, wrap(strings.NewReader(c.file)), ingest.Options{
				OnBad: func(b *ingest.Bad) { bad = append(bad, b.Place) }})
			var ids []string
			for _, m := range s.list {
				ids = append(ids, m.ID)
			}
			if err != nil || !slices.Equal(ids, c.ids) || !slices.Equal(bad, c.bad) {
				t.Errorf("%s, %s: %q, bad %v, %v", name, way, ids, bad, err)
			}
			if res.Records != res.New+res.Known+res.Bad || res.New != len(c.ids) || res.Bad != len(c.bad) {
				t.Errorf("%s, %s: %+v", name, way, res)
			}
		}
	}
}

// TestStrict stops at the first bad line, and keeps what came before.
func TestStrict(t *testing.T) {
	for _, bad := range []string{"bad", strings.Repeat("x", 4<<20+1), message("")} {
		s := &shelf{keep: true}
		told := 0
		res, err := jsonLines(t.Context(), s, strings.NewReader(message("a")+"\n\n"+bad+"\n"+message("b")+"\n"),
			ingest.Options{Strict: true, OnBad: func(*ingest.Bad) { told++ }})
		if err == nil || !strings.Contains(err.Error(), "line 3: ") || told != 1 {
			t.Errorf("%.20q: told %d times, %v", bad, told, err)
		}
		if len(s.list) != 1 || s.list[0].ID != "a" || counts(res) != [4]int{2, 1, 0, 1} {
			t.Errorf("%.20q: %+v, stored %+v", bad, res, s.list)
		}
	}
}

// TestFailures keeps what was read before a reader or a store gave out.
func TestFailures(t *testing.T) {
	broken := errors.New("the disk is broken")
	s := &shelf{keep: true}
	res, err := jsonLines(t.Context(), s, io.MultiReader(strings.NewReader(message("a")+"\n"+message("b")[:9]), iotest.ErrReader(broken)), ingest.Options{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") || len(s.list) != 1 {
		t.Errorf("%+v, stored %d, %v", res, len(s.list), err)
	}
	s = &shelf{fails: reverie.ErrNotFound}
	res, err = jsonLines(t.Context(), s, strings.NewReader(message("a")+"\n"), ingest.Options{})
	if !errors.Is(err, reverie.ErrNotFound) || !strings.Contains(err.Error(), `"g"`) || res.New != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestPause stores what comes slowly: what was read waits no longer than the pause, nor is
// it stored a line at a time. What the store then refuses is the error.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		s := &shelf{keep: true}
		done := make(chan error)
		go func() {
			_, err := jsonLines(t.Context(), s, r, ingest.Options{Pause: time.Second, Now: func() time.Time { return noon.Add(time.Hour) }})
			done <- err
		}()
		write := func(text string) {
			if _, err := io.WriteString(w, text); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		for i := range 16 { // five in each second, the last with half of the next
			write(message(fmt.Sprint(i)) + "\n" + message("x")[:20*(i/15)])
			time.Sleep(230 * time.Millisecond) // of the bubble's clock
		}
		time.Sleep(time.Second)
		if synctest.Wait(); len(s.list) != 16 || !slices.Equal(s.batches, []int{5, 5, 5, 1}) {
			t.Errorf("stored %d in batches of %v", len(s.list), s.batches)
		}
		s.fails = reverie.ErrUnavailable
		write(message("x")[20:] + "\n")
		time.Sleep(2 * time.Second)
		w.Close()
		if err := <-done; !errors.Is(err, reverie.ErrUnavailable) {
			t.Errorf("a store that gives out: %v", err)
		}
	})
}

// stream makes n lines as they are read, and remembers the most memory that was
// in use meanwhile.
type stream struct {
	n, at int
	line  func(int) string
	rest  string
	peak  uint64
}

func (s *stream) Read(p []byte) (int, error) {
	if s.rest == "" {
		if s.at == s.n {
			return 0, io.EOF
		}
		s.at++
		if s.rest = s.line(s.at); s.at%(s.n/4) == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			s.peak = max(s.peak, m.HeapAlloc)
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// TestBoundedMemory streams many lines, and then large ones, without holding
// more than a batch of them.
func TestBoundedMemory(t *testing.T) {
	text := strings.Repeat("x", 1<<19)
	for name, c := range map[string]struct {
		n    int
		line func(i int) string
		most int // messages of a batch
	}{
		"many": {5000, func(i int) string { return message(fmt.Sprint(i)) + "\n" }, 1000},
		"half a megabyte each": {40, func(i int) string {
			return fmt.Sprintf(`{"id":%d,"author":"Lin",%s,"text":"`, i, sent) + text + "\"}\n"
		}, 16},
	} {
		s, r := &shelf{}, &stream{n: c.n, line: c.line}
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		res, err := jsonLines(t.Context(), s, r, ingest.Options{})
		if err != nil || res.Records != c.n || res.Bad != 0 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		sum := 0
		for _, n := range s.batches {
			sum += n
			if n > c.most {
				t.Errorf("%s: a batch of %d messages", name, n)
			}
		}
		if sum != c.n {
			t.Errorf("%s: %d messages were stored", name, sum)
		}
		if grown := int64(r.peak) - int64(before.HeapAlloc); grown > 14<<20 {
			t.Errorf("%s: %d MiB more were in use", name, grown>>20)
		}
	}
}
