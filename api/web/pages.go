package web

// page is one page. To add one: its entry in pages, its handler and its texts in a file
// of its own, its template beside the others.
type page struct {
	pattern  string // as of net/http: "GET /ui/runs/{run}"
	title    string // key of its title in texts; visit.title replaces it
	template string // templates/<template>.html, which defines "content"
	// show reads what the page is about. What it returns is .Data in the template.
	show func(*visit) (data any, err error)
	open bool // shown to whoever asks
}

// form is where a form is sent to. Its token has been checked when do is called.
type form struct {
	pattern string // as of net/http: "POST /ui/runs/{run}/approve"
	// do does what was asked for and names the page to go on with; see visit.notify.
	do   func(*visit) (next string, err error)
	open bool // without login and token
}

func (s *site) pages() []page {
	return []page{
		{pattern: "GET /ui/login", title: "login.title", template: "login", show: s.loginPage, open: true},
		{pattern: "GET /ui/{$}", title: "groups.title", template: "groups", show: s.groupsPage},
	}
}

func (s *site) forms() []form {
	return []form{
		{pattern: "POST /ui/login", do: s.login, open: true},
		{pattern: "POST /ui/logout", do: s.logout},
	}
}
