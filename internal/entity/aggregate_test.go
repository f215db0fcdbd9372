package entity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// seen is an observation with one impression on some messages.
func seen(account, subject string, kind reverie.EntityKind, aliases []string, text string, messages ...string) reverie.Observation {
	o := reverie.Observation{Account: account, Subject: subject, Kind: kind, Aliases: aliases}
	o.Claims = []reverie.ObservedClaim{{Aspect: reverie.AspectImpression, Value: text, Confidence: 0.9, Evidence: quotes(messages...)}}
	o.LastAt = newest(o.Claims[0].Evidence)
	return o
}

// quotes is evidence such as "3 u1 words": message m3, a minute after m2, by u1.
func quotes(messages ...string) (list []reverie.Evidence) {
	for _, text := range messages {
		var n int
		var by string
		_, _ = fmt.Sscan(text, &n, &by)
		at := time.Date(2026, 3, 1, 20, n, 0, 0, time.UTC)
		_, quote, _ := strings.Cut(text, by+" ")
		list = append(list, reverie.Evidence{MessageID: fmt.Sprint("m", n), AuthorID: by, Quote: quote, SentAt: at, LocalDate: at.Format(time.DateOnly)})
	}
	return list
}

func waits(id string, o reverie.Observation) reverie.Observation {
	o.ID, o.ExpiresAt = id, o.LastAt.Add(time.Hour)
	return o
}

const person, thing = reverie.EntityPerson, reverie.EntityThing

var nobodyHere = &participants{accounts: map[string]*account{}, labels: map[string]string{}}

// groups are the names that aggregate takes for one, and what waits among them.
func groups(list []merged) []string {
	var out []string
	for _, m := range list {
		names := append([]string{m.Subject}, m.Aliases...)
		text := fmt.Sprintf("%s [%s] %s", m.Kind, m.Account, strings.Join(names, " = "))
		var claims []string
		for _, c := range m.Claims {
			claim := " | " + c.Value
			for _, e := range c.Evidence {
				claim += " " + e.MessageID
			}
			claims = append(claims, claim)
		}
		slices.Sort(claims)
		var waiting []string
		for _, o := range m.waiting() {
			waiting = append(waiting, o.ID)
		}
		out = append(out, strings.TrimSuffix(text+strings.Join(claims, "")+" + "+strings.Join(waiting, ","), " + "))
	}
	return out
}

func TestAggregateJoins(t *testing.T) {
	for name, c := range map[string]struct {
		fresh, waiting []reverie.Observation
		want           []string
	}{
		"one account": {[]reverie.Observation{seen("u1", "Alex", person, nil, "likes tea", "1 u1 tea"), seen("u1", "Lex", person, nil, "Likes tea.", "2 u1 tea!", "1 u1 tea, please")}, nil,
			[]string{"person [u1] Alex = Lex | likes tea m1 m2"}},
		"two accounts of one name": {[]reverie.Observation{seen("u1", "Alex", person, nil, "likes tea", "1 u1 tea"), seen("u2", "Alex", person, nil, "likes tea", "1 u1 tea")}, nil,
			[]string{"person [u1] Alex | likes tea m1", "person [u2] Alex | likes tea m1"}},
		"a name and an account wait for resolve": {[]reverie.Observation{seen("u1", "Alex", person, nil, "likes tea", "1 u1 tea"), seen("", "Alex", person, nil, "likes tea", "2 u2 tea")}, nil,
			[]string{"person [] Alex | likes tea m2", "person [u1] Alex | likes tea m1"}},
		"one name": {[]reverie.Observation{seen("", "Marta", person, nil, "likes tea", "1 u1 tea")}, []reverie.Observation{waits("w1", seen("", "marta", person, nil, "has a dog", "0 u2 dog"))},
			[]string{"person [] Marta | has a dog m0 | likes tea m1 + w1"}},
		"a person and a thing": {[]reverie.Observation{seen("", "Atlas", person, nil, "likes tea", "1 u1 tea"), seen("", "Atlas", thing, nil, "is slow", "2 u1 slow")}, nil,
			[]string{"person [] Atlas | likes tea m1", "thing [] Atlas | is slow m2"}},
		"a proven alias": {[]reverie.Observation{seen("", "Marta", person, []string{"Tita"}, "likes tea", "1 u1 Marta aka Tita"), seen("", "Tita", person, nil, "has a dog", "2 u2 Tita's dog")}, nil,
			[]string{"person [] Marta = Tita | has a dog m2 | likes tea m1"}},
		"an alias that both bear": {[]reverie.Observation{seen("", "王小明", person, []string{"大头"}, "喜欢茶", "1 u1 王小明就是大头"), seen("", "小明", person, []string{"大头"}, "喜欢狗", "2 u2 小明外号大头")}, nil,
			[]string{"person [] 王小明 = 大头 = 小明 | 喜欢狗 m2 | 喜欢茶 m1"}},
		"two in one sentence": {[]reverie.Observation{seen("", "Mia", person, nil, "is vegetarian", "1 u1 Mia and Kay are vegetarian"), seen("", "Kay", person, nil, "is vegetarian", "1 u1 Mia and Kay are vegetarian")}, nil,
			[]string{"person [] Kay | is vegetarian m1", "person [] Mia | is vegetarian m1"}},
		"two in one sentence, of like names": {[]reverie.Observation{seen("", "小明", person, nil, "不吃肉", "1 u1 小明和王小明都不吃肉"), seen("", "王小明", person, nil, "不吃肉", "1 u1 小明和王小明都不吃肉")}, nil,
			[]string{"person [] 小明 | 不吃肉 m1", "person [] 王小明 | 不吃肉 m1"}},
		"Ann and Anna": {[]reverie.Observation{seen("", "Ann", person, nil, "is late", "1 u1 Anna is late"), seen("", "Anna", person, nil, "is late", "1 u1 Anna is late")}, nil,
			[]string{"person [] Ann | is late m1", "person [] Anna | is late m1"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, refused := aggregate(c.fresh, c.waiting, nobodyHere, 0.5)
			if diff := cmp.Diff(c.want, groups(list)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if len(refused) > 0 {
				t.Errorf("refused %+v", refused)
			}
		})
	}
}

func TestAggregateDrops(t *testing.T) {
	with := func(change func(c *reverie.ObservedClaim)) reverie.Observation {
		o := seen("u1", "Alex", person, nil, "likes tea", "1 u1 tea")
		change(&o.Claims[0])
		return o
	}
	for name, c := range map[string]struct {
		o    reverie.Observation
		rule string
	}{
		"weak":        {with(func(c *reverie.ObservedClaim) { c.Confidence = 0.49 }), ruleConfidence},
		"boilerplate": {with(func(c *reverie.ObservedClaim) { c.Value = "Unknown" }), ruleBoilerplate},
		"its name":    {with(func(c *reverie.ObservedClaim) { c.Value = "alex" }), ruleBoilerplate},
		"empty":       {with(func(c *reverie.ObservedClaim) { c.Value = " " }), "empty"},
		"over-long":   {with(func(c *reverie.ObservedClaim) { c.Value = strings.Repeat("茶", reverie.MaxValueLength+1) }), "too_long"},
		"a long key": {with(func(c *reverie.ObservedClaim) {
			c.Aspect, c.Name = reverie.AspectFeature, strings.Repeat("k", reverie.MaxNameLength+1)
		}), "too_long"},
	} {
		list, refused := aggregate([]reverie.Observation{c.o}, nil, nobodyHere, 0.5)
		if len(list) != 0 || len(refused) != 1 || refused[0].Rule != c.rule || refused[0].Handle != "Alex" {
			t.Errorf("%s: %+v, refused %+v", name, list, refused)
		}
	}
	fine := with(func(c *reverie.ObservedClaim) {
		c.Confidence, c.Value = 0.5, strings.Repeat("茶", reverie.MaxValueLength)
	})
	if list, refused := aggregate([]reverie.Observation{fine}, nil, nobodyHere, 0.5); len(list) != 1 || len(refused) != 0 {
		t.Errorf("at the limits: %+v, refused %+v", list, refused)
	}
	sure, unsure := seen("u1", "Alex", person, nil, "likes tea", "1 u1 tea"), with(func(c *reverie.ObservedClaim) { c.Confidence = 0.1 })
	if list, _ := aggregate([]reverie.Observation{unsure, sure}, nil, nobodyHere, 0.5); len(list) != 1 || list[0].Claims[0].Confidence != 0.9 {
		t.Errorf("the highest confidence counts: %+v", list)
	}
}

// TestAggregateAnyOrder shuffles observations, their claims and their evidence:
// the outcome is the same, to the letter.
func TestAggregateAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	for round := range 100 {
		var all []reverie.Observation
		for n := range 2 + rng.IntN(8) {
			o := seen(pick("", "", "u1", "u2"), pick("Alex", "alex", "王小明", "小明", "Kay"), reverie.EntityKind(pick("person", "person", "thing", "bot")), nil,
				pick("likes tea", "Likes tea!", "有狗", "is a member"), fmt.Sprintf("%d u%d %s", rng.IntN(4), rng.IntN(3), pick("tea", "王小明 tea", "小明 tea")))
			if rng.IntN(3) == 0 {
				o.Aliases = []string{pick("Kay", "KAY", "大头")}
			}
			second := o.Claims[0]
			second.Evidence = slices.Concat(second.Evidence, quotes(fmt.Sprintf("%d u2 %s", 5+rng.IntN(2), pick("x", "xy"))))
			second.Aspect, second.Name, second.Value, second.Confidence = reverie.AspectFeature, pick("city", "City"), pick("Rome", "Oslo"), float64(rng.IntN(10))/10
			o.Claims = append(o.Claims, second)
			if rng.IntN(3) == 0 {
				o = waits(fmt.Sprint("w", n), o)
			}
			all = append(all, o)
		}
		run := func() []merged {
			var fresh, waiting []reverie.Observation
			for _, o := range all {
				if o.ID == "" {
					fresh = append(fresh, o)
				} else {
					waiting = append(waiting, o)
				}
			}
			list, _ := aggregate(fresh, waiting, nobodyHere, 0.3)
			for i := range list {
				list[i].observations = nil
			}
			return list
		}
		want := run()
		for range 4 {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for i := range all {
				claims := slices.Clone(all[i].Claims)
				rng.Shuffle(len(claims), func(a, b int) { claims[a], claims[b] = claims[b], claims[a] })
				for j := range claims {
					claims[j].Evidence = slices.Clone(claims[j].Evidence)
					slices.Reverse(claims[j].Evidence)
				}
				all[i].Claims = claims
			}
			if diff := cmp.Diff(want, run(), cmp.AllowUnexported(merged{})); diff != "" {
				t.Fatalf("round %d: another order, another outcome: %s", round, diff)
			}
		}
	}
}

// What waits expires by two clocks, the chat's and the run's, and not at all where
// something of its name was said in time.
func TestUnexpired(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	since := at.Add(-time.Hour)
	o := func(id, subject string, expires, created time.Time) reverie.Observation {
		return reverie.Observation{ID: id, Subject: subject, Kind: person, ExpiresAt: expires, CreatedAt: created}
	}
	fresh := []reverie.Observation{{Subject: "zed", Kind: reverie.EntityBot, LastAt: at.Add(-2)}, {Subject: "Marta", Kind: person, LastAt: at}}
	live, expired := unexpired([]reverie.Observation{o("b", "Bo", at, since), o("c", "Bo", at.Add(1), since), o("a", "Ann", at.Add(-1), since), o("young", "Bo", at, at),
		o("zed", "Zed", at.Add(-1), since), o("marta", "Marta", at, since)}, fresh, at, since)
	var ids []string
	for _, o := range live {
		ids = append(ids, o.ID)
	}
	if !slices.Equal(ids, []string{"c", "zed"}) || !slices.Equal(expired, []string{"a", "b", "marta"}) {
		t.Errorf("live %v, expired %v", ids, expired)
	}
}
