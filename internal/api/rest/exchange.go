package rest

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"reverie/internal/api/problem"
	"reverie/internal/text"
)

type humaContext = huma.Context // a field named Context would hide the method

// exchange is one request and its answer, as huma sees them.
type exchange struct {
	humaContext
	values url.Values
}

func newExchange(op *huma.Operation, w http.ResponseWriter, r *http.Request, values url.Values) *exchange {
	return &exchange{humago.NewContext(op, r, w), values}
}

// Unwrap is for humago.
func (e *exchange) Unwrap() huma.Context { return e.humaContext }

// Query is the first value of a parameter.
func (e *exchange) Query(name string) string { return e.values.Get(name) }

// SetReadDeadline leaves deadlines to the server: one that is left behind by reading a
// body would end the request while it is being answered.
func (e *exchange) SetReadDeadline(time.Time) error { return nil }

func init() {
	// Lists are never null here, and huma's own errors are problems like all others.
	huma.DefaultArrayNullable = false
	huma.NewError = problemOfHuma
	huma.NewErrorWithContext = func(_ huma.Context, status int, message string, errs ...error) huma.StatusError {
		return problemOfHuma(status, message, errs...)
	}
}

// problemOfHuma is what huma has found wrong with a request.
func problemOfHuma(status int, message string, errs ...error) huma.StatusError {
	var large *http.MaxBytesError
	broken := errors.Join(errs...)
	switch {
	case errors.As(broken, &large):
		return problem.Of(broken, time.Time{})
	case status == http.StatusInternalServerError && strings.Contains(message, "request body"):
		return problem.New(http.StatusBadRequest, "the request's body broke off")
	}
	p := problem.New(status, message)
	for _, err := range errs[:min(len(errs), problem.MaxErrors)] {
		var d huma.ErrorDetailer
		if !errors.As(err, &d) {
			p.Errors = append(p.Errors, problem.Detail{Message: text.Excerpt(err.Error(), problem.MaxMessage)})
			continue
		}
		e := d.ErrorDetail()
		p.Errors = append(p.Errors, problem.Detail{Location: text.Excerpt(e.Location, problem.MaxMessage),
			Message: text.Excerpt(e.Message, problem.MaxMessage)})
	}
	if len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Message
		if at := p.Errors[0].Location; at != "" {
			p.Detail = at + ": " + p.Detail
		}
	}
	return p
}

// storable tells whether PostgreSQL can hold a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// unstorable returns where a body has a text that PostgreSQL cannot hold, "" where it
// has none.
func unstorable(v reflect.Value, at string) string {
	switch v.Kind() {
	case reflect.String:
		if !storable(v.String()) {
			return at
		}
	case reflect.Pointer:
		return unstorable(v.Elem(), at)
	case reflect.Slice:
		for i := range v.Len() {
			if bad := unstorable(v.Index(i), at); bad != "" {
				return bad
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if bad := unstorable(v.Field(i), at+"."+name); bad != "" {
				return bad
			}
		}
	}
	return ""
}
