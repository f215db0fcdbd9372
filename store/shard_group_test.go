package store_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	stdmaps "maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// Each of the groups has a shard of its own, which shows the tables themselves. The shard of the first is 101.
const shardEachGroup = likeCitus + `
	create table shards as select g as group_id, 100 + n as shard from unnest(%s::text[]) with ordinality as s (g, n);
	create function get_shard_id_for_distribution_column(regclass, text) returns bigint language sql as
		'select shard from shards where group_id = $2';
	create table pg_dist_shard as select logicalrelid,
		case logicalrelid::text when 'groups' then shard else shard + 1000 end as shardid, shard::text as shardminvalue from pg_dist_partition, shards;
	create table pg_dist_placement as select shard as shardid, 1 as groupid from shards;
	create function here() returns void language sql as '';
	do $$ declare s record; begin
		for s in select logicalrelid as t, shardid from pg_dist_shard loop
			execute format('create view %%I as select * from %%I', s.t || '_' || s.shardid, s.t);
		end loop; end $$`

func giveShards(t *testing.T, groups ...string) {
	t.Helper()
	literal := must(pq.StringArray(groups).Value())(t).(string)
	db := raw(t)
	mustExec(t, db, fmt.Sprintf(shardEachGroup, pq.QuoteLiteral(literal)))
	addNode(t, db, "")
}

// shardWork is what was asked of shards, by their numbers.
type shardWork struct {
	sync.Mutex
	opened map[string]int
	asked  map[string]map[string][]string // texts, and the parameters that they came with, as a literal
}

var ofShard = regexp.MustCompile(`reverie_(\d+)_\d+`)

// hear is of one connection.
func (w *shardWork) hear() func(kind byte, message []byte) {
	shard, texts := "", map[string]string{}
	cut := func(b []byte) (string, []byte) {
		text, rest, _ := bytes.Cut(b, []byte{0})
		return string(text), rest
	}
	return func(kind byte, message []byte) {
		if kind == 0 {
			if m := ofShard.FindSubmatch(message); m != nil {
				shard = string(m[1])
			}
			return
		}
		w.Lock()
		defer w.Unlock()
		switch text, rest := cut(message); {
		case shard == "":
		case kind == 'Q':
			w.note(shard, text, nil)
		case kind == 'P':
			texts[text], _ = cut(rest)
		case kind == 'B':
			name, rest := cut(rest)
			w.note(shard, texts[name], parameters(rest))
		}
	}
}

func (w *shardWork) note(shard, text string, with []string) {
	if text == `select here()` {
		w.opened[shard]++
	}
	if w.asked[shard] == nil {
		w.asked[shard] = map[string][]string{}
	}
	w.asked[shard][text] = with
}

// parameters are those of a message Bind, behind its names.
func parameters(b []byte) (list []string) {
	b = b[2+2*int(binary.BigEndian.Uint16(b)):]
	n := int(binary.BigEndian.Uint16(b))
	for b = b[2:]; len(list) < n; {
		size := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		list = append(list, string(b[:max(size, 0)]))
		b = b[max(size, 0):]
	}
	return list
}

// What is asked of a shard is of the group for which it was looked up, and of no other: on each table the group is
// a parameter, which is that group; or it is where an operator could ask for all. And all calls tell there what they tell
// of the whole.
func TestShardIsAskedOfItsGroup(t *testing.T) {
	pgtest.OnOneServer(t, "the test plays Citus itself")
	w := newIsolated(t)
	w.seed(twin)
	w.seed(far)
	before, whole, names := w.state(), map[string]string{}, slices.Sorted(stdmaps.Keys(calls))
	each := func(take func(name, told string)) {
		for _, name := range names {
			for _, ids := range []string{home, far} {
				_, results := w.try(name, ids, before)
				take(name+" with ids of "+ids, told(results))
			}
		}
	}
	each(func(name, told string) { whole[name] = told })

	groups := []string{home, twin, far, homeTeam, reverie.TeamGroupID(twin), reverie.TeamGroupID(far)}
	giveShards(t, groups...)
	work := &shardWork{opened: map[string]int{}, asked: map[string]map[string][]string{}}
	s := must(store.Open(t.Context(), pg.Options{URL: pgtest.URL(t), Now: func() time.Time { return noon }, Dial: listening(nil, work.hear)}))(t)
	t.Cleanup(func() { _ = s.Close() })
	w.parts = partsOf(s)
	each(func(name, told string) {
		if told != whole[name] {
			t.Errorf("%s returned of a shard, beside what it did of the whole:\n%s", name, cmp.Diff(whole[name], told))
		}
	})

	a, pinned := newAnalyzer(t), 0
	for i, group := range groups {
		shard := fmt.Sprint(101 + i)
		if n := work.opened[shard]; n > 1 {
			t.Errorf("the shard of %s was given up %d times", group, n-1)
		}
		for text, with := range work.asked[shard] {
			if strings.HasPrefix(text, "BEGIN ") {
				_, text, _ = strings.Cut(text, "; ")
			}
			if text = strings.TrimSpace(text); strings.HasPrefix(text, "do $do$") { // it makes the views
				continue
			}
			found := must(a.unpinned(text))(t)
			for _, fault := range faults(text, found, map[string]bool{}) {
				t.Errorf("of the shard of %s: %s\n%s", group, fault, text)
			}
			if len(found) > 0 && !slices.Contains(with, group) && !slices.Contains(with, `{"`+group+`"}`) {
				t.Errorf("of the shard of %s is asked, with %q and not for it alone: %s", group, with, text)
			}
			for no := range a.named {
				pinned++
				if n := must(strconv.Atoi(no))(t); with[n-1] != group {
					t.Errorf("of the shard of %s is asked what is of %s: %s", group, with[n-1], text)
				}
			}
		}
	}
	if pinned < 50 {
		t.Errorf("only %d statements asked a shard of its group", pinned)
	}
}

// A shard that is lost is no loss: whether a commit came through is read from the whole database where the shard was
// moved meanwhile, and what is under way on a server that is gone is done by the whole, with the one connection that there is.
func TestShardIsLost(t *testing.T) {
	pgtest.OnOneServer(t, "the test plays Citus itself")
	pgtest.New(t)
	giveShards(t, group)
	db, n := raw(t), &network{}
	opts := n.options()
	opts.URL, opts.MaxConns = pgtest.URL(t), 1
	s := must(store.Open(t.Context(), opts))(t)
	t.Cleanup(func() { _ = s.Close() })
	check(t, s.AddGroup(t.Context(), reverie.Group{ID: group}))

	moved := false
	n.drop = func(request []byte) fault {
		if moved || !bytes.Contains(request, []byte("COMMIT")) {
			return healthy
		}
		moved = true
		mustExec(t, db, `update pg_dist_placement set groupid = 2`)
		return lostReply
	}
	in := must(s.ImportMessages(t.Context(), group, []reverie.Message{line("m1", "s", "user", 0), line("m2", "s", "user", 1)}))(t)
	if in.New != 2 || !moved || count(t, db, `select count(*) from pg_namespace where nspname like 'reverie_101_%'`) != 1 {
		t.Errorf("of a commit that came through before the shard was moved is told %+v", in)
	}

	mustExec(t, db, `update pg_dist_placement set groupid = 1`)
	lost := 0
	n.drop = func(request []byte) fault {
		if !bytes.Contains(request, []byte("here()")) {
			return healthy
		}
		lost++
		return lostSend
	}
	for range 3 {
		must(s.Group(t.Context(), group))(t)
		if pending := must(s.CountPending(t.Context(), group, always, later))(t); pending != 2 {
			t.Errorf("%d messages wait, want 2", pending)
		}
	}
	if lost == 0 {
		t.Error("no shard was asked")
	}
}
