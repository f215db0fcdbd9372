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

// DefaultReaderRole is the role that the migrations create and restrict.
const DefaultReaderRole = "reverie_reader"

type readerKey struct{}

// everyGroup is the value of reverie.groups that allows rows of all groups. It cannot be confused with a list of ids,
// which begins with a brace.
const everyGroup = "*"

// AsReader returns a context in which read-only transactions use the role [Options].ReaderRole. To this role PostgreSQL
// shows only the rows of the given groups, or no rows if none is given. Transactions that write are not affected, nor
// are reads that are about all groups: budgets and tokens. If the role cannot be used, see [Store.Reader], AsReader has
// no effect.
func AsReader(ctx context.Context, groupIDs ...string) context.Context {
	ids := make(pq.StringArray, len(groupIDs))
	for i, id := range groupIDs {
		ids[i] = pg.ValidText(id)
	}
	list, _ := ids.Value() // a list of strings has no error
	if len(ids) == 0 {
		list = "{}"
	}
	return context.WithValue(ctx, readerKey{}, list)
}

// AsReaderOfAll is [AsReader] for all groups.
func AsReaderOfAll(ctx context.Context) context.Context {
	return context.WithValue(ctx, readerKey{}, everyGroup)
}

// Instead returns a context that, within [AsReader], reads another group only: the tenant of a group's team, or a
// linked group. Other contexts are returned unchanged.
func Instead(ctx context.Context, groupID string) context.Context {
	if !IsConfined(ctx) {
		return ctx
	}
	return AsReader(ctx, groupID)
}

// IsConfined reports whether the context reads with the role of [AsReader].
func IsConfined(ctx context.Context) bool {
	_, confined := ctx.Value(readerKey{}).(string)
	return confined
}

// asLogin returns a context that reads as the user of the connection, for reads that are about all groups.
func asLogin(ctx context.Context) context.Context { return context.WithValue(ctx, readerKey{}, nil) }

// Reader reports whether PostgreSQL restricts reads to their groups.
type Reader struct {
	Role string // "" if it is switched off
	On   bool   // the role exists and is used
	Why  string // why it is not used, and what to do
}

// Reader checks, once for each store, whether the role for reading can be used. If it cannot, reads work without that
// restriction.
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

// readerQuery reads whether the user of the connection can use a role. It also reads what would bypass the restriction:
// powers of the role itself, or a table that it may read without restriction.
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

// readerFault returns why a role is not used for reading, "" if it can be used.
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

// confinement returns the settings by which a transaction reads as the reader, if the context asks for that.
func (s *Store) confinement(ctx context.Context, writes bool) (pg.Settings, error) {
	groups, ok := ctx.Value(readerKey{}).(string)
	if !ok || writes || s.db.Options().ReaderRole == "" {
		return nil, nil
	}
	if r, err := s.Reader(ctx); err != nil || !r.On {
		return nil, err
	}
	return pg.Settings{"role", s.db.Options().ReaderRole, "reverie.groups", groups}, nil
}

// confineReader creates the role for reading, as far as the user of db may, and restricts it.
func confineReader(ctx context.Context, db *sql.DB, role string) error {
	if role == "" {
		return nil
	}
	if len(role) > 63 || strings.ContainsRune(role, 0) {
		return fmt.Errorf("the reader's role %q: a name has at most 63 bytes: %w", role, reverie.ErrConfiguration)
	}
	var why string // the doctor explains it better
	if err := pg.ReadRow(ctx, db, &why, `select reverie_reader($1::text::name)`, role); err != nil {
		return pg.Translate(ctx, err, fmt.Sprintf("confine the role %s", role))
	}
	return nil
}
