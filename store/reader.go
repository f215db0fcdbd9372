package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// DefaultReaderRole is the role that the schema's migrations make and confine.
const DefaultReaderRole = "reverie_reader"

type readerKey struct{}

// everyGroup is what reverie.groups says where rows of all groups may be seen. It cannot
// be taken for a list of ids, which begins with a brace.
const everyGroup = "*"

// AsReader is a context in which everything that only reads does so as the role of
// [Options].ReaderRole, to which PostgreSQL shows the rows of these groups alone: of no
// group without any. What writes is not concerned, nor is what is about all groups by
// purpose: budgets and tokens. Where the role cannot be used, see [Store.Reader], it
// changes nothing.
func AsReader(ctx context.Context, groupIDs ...string) context.Context {
	ids := make(pq.StringArray, len(groupIDs))
	for i, id := range groupIDs {
		ids[i] = pg.ValidText(id)
	}
	list, _ := ids.Value() // of strings: it has no error to give
	if len(ids) == 0 {
		list = "{}"
	}
	return context.WithValue(ctx, readerKey{}, list)
}

// AsReaderOfAll is [AsReader] for who may see every group.
func AsReaderOfAll(ctx context.Context) context.Context {
	return context.WithValue(ctx, readerKey{}, everyGroup)
}

// Instead is a context that reads, under [AsReader], another group alone: a team's tenant for
// one of its groups, or a group that is linked with it. Other contexts stay what they are.
func Instead(ctx context.Context, groupID string) context.Context {
	if !IsConfined(ctx) {
		return ctx
	}
	return AsReader(ctx, groupID)
}

// IsConfined tells whether the context reads as the role of [AsReader].
func IsConfined(ctx context.Context) bool {
	_, confined := ctx.Value(readerKey{}).(string)
	return confined
}

// asLogin is a context that reads as the connection's own user, whatever it was: for what
// is about all groups by purpose.
func asLogin(ctx context.Context) context.Context { return context.WithValue(ctx, readerKey{}, nil) }

// Reader says how the second wall stands.
type Reader struct {
	Role string // "" where it is switched off
	On   bool   // it is there, and used
	Why  string // it is not, and what to do about it
}

// Reader looks whether the role for reading can be used, and says so: once for a store.
// Where it cannot, everything is read as before, without the second wall.
func (s *Store) Reader(ctx context.Context) (Reader, error) {
	s.mu.Lock()
	known := s.reader
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	r := Reader{Role: s.db.Options().ReaderRole}
	switch {
	case r.Role == "":
	case s.db.Distributed():
		r.Why = "Citus has the tables, and cannot carry the policies: nothing but Reverie keeps groups apart"
	default:
		why, err := s.readerFault(asLogin(ctx), r.Role)
		if err != nil {
			return r, err
		}
		r.On, r.Why = why == "", why
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reader = &r
	return r, nil
}

// readerQuery looks a role up as the connection's user may use it, and for what would
// make its confinement void: powers of its own, or a table that it may read unconfined.
const readerQuery = `select current_user as login, coalesce(pg_has_role(r.oid, 'member'), false) as member,
	r.oid is not null as found,
		coalesce(r.rolsuper or r.rolbypassrls, false) as mighty,
		coalesce((select string_agg(c.relname, ', ' order by c.relname) from pg_class c
			join pg_attribute a on a.attrelid = c.oid and a.attname = 'group_id' and not a.attisdropped
			where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and (
				pg_has_role(r.oid, c.relowner, 'usage')
				or (c.relname in ('api_tokens', 'page_sessions')) = has_any_column_privilege(r.oid, c.oid, 'select')
				or c.relname <> 'deployments' and (not c.relrowsecurity or not exists (select 1 from pg_policy p
					where p.polrelid = c.oid and not p.polpermissive and p.polroles = array[r.oid] and p.polcmd in ('r', '*'))))),
						'') as bare
	from (select 1) one left join pg_roles r on r.rolname = $1`

// readerFault says why a role is not used for reading, "" where nothing speaks against it.
func (s *Store) readerFault(ctx context.Context, role string) (why string, err error) {
	var row struct {
		Login  string `db:"login"`
		Member bool   `db:"member"`
		Found  bool   `db:"found"`
		Mighty bool   `db:"mighty"`
		Bare   string `db:"bare"`
	}
	err = s.db.QueryRow(ctx, "look for the role that reads", &row, readerQuery, role)
	name, login := pq.QuoteIdentifier(role), pq.QuoteIdentifier(row.Login)
	switch {
	case err != nil:
		return "", err
	case !row.Found:
		return fmt.Sprintf("there is no role %s: have an administrator run `create role %s nologin; grant %s to %s`, then run `reverie migrate up`",
			role, name, name, login), nil
	case !row.Member:
		return fmt.Sprintf("%s may not become %s: have an administrator run `grant %s to %s`", row.Login, role, name,
			login), nil
	case row.Mighty:
		return fmt.Sprintf("%s is a superuser or bypasses row-level security: name another role", role), nil
	case row.Bare != "":
		return fmt.Sprintf("%s may read too much or too little of %s: run `reverie migrate up`; it must own none of them, nor read tokens", role, row.Bare), nil
	}
	return "", nil
}

// confinement has a transaction of the context read as the reader, where it is to.
func (s *Store) confinement(ctx context.Context) (pg.Settings, error) {
	groups, ok := ctx.Value(readerKey{}).(string)
	if !ok || s.db.Options().ReaderRole == "" {
		return nil, nil
	}
	if r, err := s.Reader(ctx); err != nil || !r.On {
		return nil, err
	}
	return pg.Settings{"role", s.db.Options().ReaderRole, "reverie.groups", groups}, nil
}

// confineReader makes the role for reading, as far as the user of db may, and confines it.
func confineReader(ctx context.Context, db *sql.DB, role string) error {
	if role == "" {
		return nil
	}
	if len(role) > 63 || strings.ContainsRune(role, 0) {
		return fmt.Errorf("the reader's role %q: a name has at most 63 bytes: %w", role, reverie.ErrConfiguration)
	}
	var why string // the doctor says it better
	if err := pg.ReadRow(ctx, db, &why, `select reverie_reader($1::text::name)`, role); err != nil {
		return pg.Translate(ctx, err, fmt.Sprintf("confine the role %s", role))
	}
	return nil
}
