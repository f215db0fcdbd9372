package app

import "context"

// watchReader warns where clients would read without the second wall between groups, and
// has the metrics say which it is.
func (a *App) watchReader(ctx context.Context) {
	r, err := a.Store.Reader(ctx)
	switch {
	case err != nil:
		a.Log.Warn("the role that clients read as could not be looked at", "error", err)
	case r.Why != "":
		a.Log.Warn("clients read without row-level security", "why", r.Why, "then", "start this again")
	}
	a.metrics.ReaderConfined(r.On)
}

// readerNote is the doctor's word on the role that clients read as. What is served
// without it is served all the same.
func (a *App) readerNote(ctx context.Context) (string, error) {
	r, err := a.Store.Reader(ctx)
	switch {
	case err != nil:
		return "", err
	case r.Role == "":
		return "off ([database] reader_role is empty): clients read as the connection's own user", nil
	case !r.On:
		return "warning: clients read without row-level security: " + r.Why, nil
	}
	return r.Role + ", confined by row-level security", nil
}
