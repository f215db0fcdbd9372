package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// check makes a command call refuse before it opens anything, to reject combinations of flags.
func check(cmd *cobra.Command, refuse func() error) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		return usageError(refuse())
	}
}

// apart refuses a flag together with any of some others.
func apart(cmd *cobra.Command, name string, others ...string) {
	check(cmd, func() error {
		for _, other := range others {
			if cmd.Flags().Changed(name) && cmd.Flags().Changed(other) {
				return fmt.Errorf("--%s and --%s do not go together: leave one of them out\nsee '%s --help'", name, other,
					cmd.CommandPath())
			}
		}
		return nil
	})
}

// oneOf refuses more than one of some flags, and none.
func oneOf(cmd *cobra.Command, names ...string) {
	check(cmd, func() error {
		given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !cmd.Flags().Changed(name) })
		if len(given) != 1 {
			return fmt.Errorf("give one of --%s\nsee '%s --help'", strings.Join(names, ", --"), cmd.CommandPath())
		}
		return nil
	})
}

// required makes flags mandatory.
func required(cmd *cobra.Command, names ...string) {
	check(cmd, func() error {
		for _, name := range names {
			if !cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is needed\nsee '%s --help'", name, cmd.CommandPath())
			}
		}
		return nil
	})
}

// notEmpty refuses flags with an empty value: an unset variable must not mean all groups.
func notEmpty(cmd *cobra.Command, names ...string) {
	check(cmd, func() error {
		for _, name := range names {
			if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
				return fmt.Errorf("--%s is empty: leave it out, or give it a value", name)
			}
		}
		return nil
	})
}

// groupFlag adds the flag for a group; an empty id is refused. A command without arguments also accepts the group
// as argument.
func groupFlag(cmd *cobra.Command, to *string, usage string) {
	cmd.Flags().StringVar(to, "group", "", usage)
	if none := cmd.Args; none(cmd, nil) == nil && none(cmd, []string{""}) != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return none(cmd, args)
			case cmd.Flags().Changed("group"):
				return fmt.Errorf("two groups are named, %q and --group %q: name one of them", args[0], *to)
			}
			return cmd.Flags().Set("group", args[0])
		}
	}
	check(cmd, func() error {
		if cmd.Flags().Changed("group") && *to == "" {
			return errors.New("--group is empty: leave it out, or give the id of a group")
		}
		return nil
	})
}

// groupNeeded is groupFlag for a command that needs a group. The default is REVERIE_GROUP, otherwise the only
// group.
func (a *app) groupNeeded(cmd *cobra.Command, to *string) {
	groupFlag(cmd, to, "group id (default REVERIE_GROUP, or the only group)")
	check(cmd, func() error { return a.needsGroup(to, "a group is needed") })
}

// groupNarrows is groupFlag for a command whose default is all groups.
func (a *app) groupNarrows(cmd *cobra.Command, to *string, usage string) {
	groupFlag(cmd, to, usage+" (default REVERIE_GROUP, or all)")
	check(cmd, func() error {
		*to = cmp.Or(*to, a.Getenv(config.EnvGroup))
		return nil
	})
}

// someWords refuses a command without arguments.
func someWords(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("give the words to look for")
	}
	return nil
}

// wordsGroup describes --group for commands whose arguments may begin with a group.
const wordsGroup = "group id, instead of the first word (default REVERIE_GROUP, or the only group)"

// groupAndWords reads arguments that are words, optionally after a group, and opens the database. The first word is
// the group if there is no --group, more words follow, and a group has that id. Otherwise the group is that of
// [app.groupNeeded].
func (a *app) groupAndWords(ctx context.Context, to *string, args []string) (string, error) {
	if err := a.settings(); err != nil {
		return "", err
	}
	if err := a.Open(ctx); err != nil {
		return "", err
	}
	if *to == "" && len(args) > 1 {
		switch _, err := a.Store.Group(ctx, args[0]); {
		case err == nil:
			*to, args = args[0], args[1:]
		case !errors.Is(err, reverie.ErrNotFound):
			return "", err
		}
	}
	if err := a.needsGroup(to, "a group is needed, before the words or with --group"); err != nil {
		return "", err
	}
	return strings.Join(args, " "), a.onlyGroup(ctx)
}

// needsGroup uses REVERIE_GROUP if no group is named. Otherwise the only group is used when the database is open;
// if there are several, the error says what is needed.
func (a *app) needsGroup(to *string, needed string) error {
	if *to == "" {
		*to = a.Getenv(config.EnvGroup)
	}
	if *to == "" {
		a.group, a.needed = to, needed
	}
	return nil
}

// onlyGroup sets the only group for a command that needs one, or lists the groups.
func (a *app) onlyGroup(ctx context.Context) error {
	if a.group == nil || *a.group != "" {
		return nil
	}
	const some = 5
	list, err := a.Store.GroupList(ctx, reverie.GroupQuery{Limit: some + 1})
	if err != nil {
		return err
	}
	var ids []string
	for _, g := range list {
		if _, team := reverie.TeamOf(g.ID); !team {
			ids = append(ids, cli.Visible(g.ID))
		}
	}
	switch {
	case len(ids) == 0:
		return usageError(fmt.Errorf("%s, but there is no group yet: `reverie import` or `reverie groups add` creates one",
			a.needed))
	case len(list) == 1:
		*a.group = list[0].ID
		return nil
	}
	more := ""
	if len(ids) > some {
		ids, more = ids[:some], " and others"
	}
	return usageError(fmt.Errorf("%s: the groups are %s%s; name one, or set %s", a.needed, strings.Join(ids, ", "), more,
		config.EnvGroup))
}

// choice adds a flag that accepts one of a few words.
func choice[T ~string](cmd *cobra.Command, to *T, name string, byDefault T, usage string, words ...T) {
	*to = byDefault
	cmd.Flags().Var(word[T]{to}, name, usage)
	offered := text.Each(words, func(w T) string { return string(w) })
	completeWords(cmd, name, offered)
	check(cmd, func() error {
		if *to != byDefault && !slices.Contains(words, *to) {
			return fmt.Errorf("--%s %q: give %s", name, *to, either(words))
		}
		return nil
	})
}

// word is the value of a flag that accepts words of some type.
type word[T ~string] struct{ to *T }

func (w word[T]) String() string     { return string(*w.to) }
func (w word[T]) Set(s string) error { *w.to = T(s); return nil }
func (w word[T]) Type() string       { return "string" }

// either lists words: a, b or c.
func either[T ~string](words []T) string {
	var list strings.Builder
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			list.WriteString(" or ")
		default:
			list.WriteString(", ")
		}
		list.WriteString(string(w))
	}
	return list.String()
}

// memoryKinds are the values of --kind for memories.
var memoryKinds = []reverie.Kind{reverie.KindGroup, reverie.KindSession, reverie.KindDream, reverie.KindTeam}

// maxListed bounds the length of a list, and maxDays the number of past days, so that dates stay valid.
const (
	maxListed = 1_000_000
	maxDays   = 3650
)

// number adds a flag for a count within bounds; math.MaxInt is no bound.
func number(cmd *cobra.Command, to *int, name string, byDefault, least, most int, usage string) {
	cmd.Flags().IntVar(to, name, byDefault, usage)
	check(cmd, func() error {
		switch {
		case !cmd.Flags().Changed(name) || *to >= least && *to <= most:
			return nil
		case most == math.MaxInt:
			return fmt.Errorf("--%s %d: give %d or more", name, *to, least)
		}
		return fmt.Errorf("--%s %d: give a number from %d to %d", name, *to, least, most)
	})
}

// limitFlag adds the flag for the length of a list.
func limitFlag(cmd *cobra.Command, to *int, byDefault int, usage string) {
	number(cmd, to, "limit", byDefault, 1, maxListed, usage)
}

// offsetFlag adds the flag that skips the first entries of a list.
func offsetFlag(cmd *cobra.Command, to *int, usage string) {
	number(cmd, to, "offset", 0, 0, math.MaxInt, usage)
}

// quietFlag adds the flag that makes a job print only counts of changes.
func (a *app) quietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.Quiet, "quiet", false, "print counts, not what was learned")
}

// shardFlag adds the flag that selects a part of all groups.
func shardFlag(cmd *cobra.Command, to *jobs.Shard) {
	text := cmd.Flags().String("shard", "", "work on this share of the groups: 0/4 is the first of four")
	notEmpty(cmd, "shard")
	check(cmd, func() (err error) {
		if *text == "" {
			return nil
		}
		if *to, err = jobs.ParseShard(*text); err != nil {
			return fmt.Errorf("--%w", err)
		}
		return nil
	})
}

// sinceFlag adds a flag for a date (midnight in UTC), an instant, or an age.
func (a *app) sinceFlag(cmd *cobra.Command, to *time.Time, usage string) {
	text := cmd.Flags().String("since", "", usage)
	check(cmd, func() (err error) {
		if *to, err = sinceWhen(*text, a.Now()); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
		return nil
	})
}

// sinceWhen parses a date (midnight in UTC), an RFC 3339 instant, or an age, counted back from now. "" is the zero
// time.
func sinceWhen(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if age, ok := parseAge(s); ok {
		return now.Add(-age).UTC(), nil
	}
	if t, err := api.Instant(s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a date (2026-01-15, midnight UTC) nor an instant "+
		"(2026-01-15T20:00:00+08:00) "+
		"nor an age (90m, 24h, 7d; at most %dd)", s, maxDays)
}

// parseAge parses a positive duration of at most maxDays; d is 24 hours.
func parseAge(s string) (time.Duration, bool) {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * day, err == nil && n > 0 && n <= maxDays
	}
	age, err := time.ParseDuration(s)
	return age, err == nil && age > 0 && age <= maxDays*day
}

// moment parses a flag with a date or an instant of a group; "" is the zero time. An unknown group is an error even
// then.
func (a *app) moment(ctx context.Context, groupID, flag, text string) (time.Time, error) {
	g, err := a.Store.Group(ctx, groupID)
	if err != nil {
		return time.Time{}, err
	}
	at, err := instant(g, text)
	if err != nil {
		return at, usageError(fmt.Errorf("--%s: %w", flag, err))
	}
	return at, nil
}

// whenFlags are --at and --recorded-at: the instant as of which a command reads.
type whenFlags struct{ at, recorded string }

func newWhenFlags(cmd *cobra.Command) *whenFlags {
	w := &whenFlags{}
	f := cmd.Flags()
	f.StringVar(&w.at, "at", "", "show what the chat had said by this date or instant")
	f.StringVar(&w.recorded, "recorded-at", "", "show what was written by this date or instant")
	notEmpty(cmd, "at", "recorded-at")
	apart(cmd, "at", "recorded-at")
	return w
}

// given reports whether an instant was named.
func (w *whenFlags) given() bool { return w.at != "" || w.recorded != "" }

// of returns the instant in a group's calendar; zero is now.
func (w *whenFlags) of(ctx context.Context, a *app, groupID string) (reverie.When, error) {
	flag, text := "at", w.at
	if w.recorded != "" {
		flag, text = "recorded-at", w.recorded
	}
	at, err := a.moment(ctx, groupID, flag, text)
	return reverie.When{At: at, Recorded: w.recorded != ""}, err
}

// ofMemory is of for a memory's group.
func (w *whenFlags) ofMemory(ctx context.Context, a *app, groupID, memoryID string) (reverie.When, error) {
	if !w.given() {
		return reverie.When{}, nil
	}
	m, err := a.Store.Memory(ctx, groupID, memoryID)
	if err != nil {
		return reverie.When{}, err
	}
	return w.of(ctx, a, m.GroupID)
}

// instant parses a date, which means its beginning in the group's calendar, or an RFC 3339 instant. Instants are
// from 1970 to 9999 and have microseconds, as stored. "" is the zero time.
func instant(g reverie.Group, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = startOf(g, s)
	}
	if at = at.UTC(); err == nil && (at.Year() < 1970 || at.Year() > 9999) {
		err = fmt.Errorf("%q is outside the years 1970 to 9999", s)
	}
	return at.Truncate(time.Microsecond), err
}

// startOf returns when a date begins in a group's calendar.
func startOf(g reverie.Group, s string) (time.Time, error) {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a date (2026-01-15) nor an instant (2026-01-15T20:00:00+08:00)", s)
	}
	c, err := jobs.CalendarOf(g)
	if err != nil {
		return time.Time{}, err
	}
	w, err := c.Window(s)
	return w.Since, err
}

// confirm asks a yes-or-no question. If nobody can answer, it returns refused; after a no it prints declined.
func (a *app) confirm(ctx context.Context, question, declined string, refused error) (bool, error) {
	if a.JSON || !a.CanAsk() {
		return false, usageError(refused)
	}
	yes, err := a.Confirm(ctx, question)
	if err != nil || !yes {
		return false, errors.Join(err, a.Say("%s\n", declined))
	}
	return true, nil
}

// settingFlag is a flag for a setting; only given flags are stored.
type settingFlag struct {
	path   string
	values map[string]string
}

func (f *settingFlag) String() string     { return "" }
func (f *settingFlag) Set(s string) error { f.values[f.path] = s; return nil }
func (f *settingFlag) Type() string       { return "string" }

// completeWords makes a shell complete the only words that a flag accepts.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	if len(words) > 0 {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}
