package safety

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// maxAuthor is the maximum number of characters of an author's name.
const maxAuthor = 100

// Written checks a person's edit by the rules for statements and returns it as it may be stored. Its errors are
// [reverie.ErrInvalid].
func (p Privacy) Written(e reverie.Edit) (reverie.Edit, error) {
	invalid := func(format string, args ...any) (reverie.Edit, error) {
		return e, fmt.Errorf(format+": %w", append(args, reverie.ErrInvalid)...)
	}
	e.Statement = strings.TrimSpace(e.Statement)
	if e.Reason = CleanReason(p.Mask(e.Reason)); e.Reason == "" {
		return invalid("say why in a reason: it is kept in the change log")
	}
	if e.Author = text.Excerpt(CleanReason(p.Mask(e.Author)), maxAuthor); e.Author == "" && e.System == "" {
		return invalid("say who writes it: the author is kept with it")
	}
	if e.Type != "" && !slices.Contains(reverie.Types(), e.Type) {
		return invalid("type %.40q: it is one of fact, habit, opinion, rule, plan and culture", e.Type)
	}
	if e.Tags != nil {
		given := slices.DeleteFunc(slices.Clone(e.Tags), func(t string) bool { return strings.TrimSpace(t) == "" })
		if e.Tags = append([]string{}, CleanTags(given)...); len(e.Tags) < len(given) {
			return invalid("tags %q: of these only %q can be kept; a memory has at most %d, of at most %d characters each", given,
				e.Tags, reverie.MaxTags, reverie.MaxTagLength)
		}
	}
	if e.Statement == "" {
		if e.Action == reverie.ActionUpdate && (e.Tags != nil || e.Type != "" || e.DueOn != "") {
			return e, nil
		}
		return invalid("nothing is written: give a statement")
	}
	var err error
	var broken *StatementError
	if e.Statement, err = p.Statement(e.Statement); errors.As(err, &broken) {
		return e, fmt.Errorf("%w; nothing is written", broken)
	}
	e.ContentHash = text.ContentHash(e.Statement)
	return e, err
}
