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
		{pattern: "GET /ui/groups/{group}/memories", title: "memories.title", template: "memories", show: s.memoriesPage},
		{pattern: "GET /ui/groups/{group}/memories/diff", title: "difference.title", template: "memory_diff",
			show: s.diffPage},
		{pattern: "GET /ui/memories/{memory}", title: "memory.title", template: "memory", show: s.memoryPage},
		{pattern: "GET /ui/memories/{memory}/delete", title: "memory.delete", template: "memory_delete",
			show: s.memoryDeletePage},
		{pattern: "GET /ui/groups/{group}/recall", title: "recall.title", template: "recall", show: s.recallPage},
		{pattern: "GET /ui/groups/{group}/dream", title: "dream.title", template: "dream", show: s.dreamPage},
		{pattern: "GET /ui/groups/{group}/people", title: "people.title", template: "people", show: s.peoplePage},
		{pattern: "GET /ui/groups/{group}/people/{entity}", title: "person.title", template: "person", show: s.personPage},
		{pattern: "GET /ui/groups/{group}/conversation", title: "talk.title", template: "conversation", show: s.talkPage},
		{pattern: "GET /ui/held", title: "held.title", template: "held", show: s.heldPage},
		{pattern: "GET /ui/groups/{group}", title: "timeline.title", template: "timeline", show: s.timelinePage},
		{pattern: "GET /ui/runs", title: "runs.title", template: "runs", show: s.runsPage},
		{pattern: "GET /ui/runs/{run}", title: "run.title", template: "run", show: s.runPage},
		{pattern: "GET /ui/runs/{run}/undo", title: "undo.title", template: "run_undo", show: s.undoPage},
		{pattern: "GET /ui/cost", title: "cost.title", template: "cost", show: s.costPage},
	}
}

func (s *site) forms() []form {
	return []form{
		{pattern: "POST /ui/login", do: s.login, open: true},
		{pattern: "POST /ui/logout", do: s.logout},
		{pattern: "POST /ui/memories/{memory}/delete", do: s.deleteMemory},
		{pattern: "POST /ui/memories/{memory}/restore", do: s.restoreMemory},
		{pattern: "POST /ui/memories/{memory}/strength", do: s.strengthenMemory},
		{pattern: "POST /ui/runs/{run}/approve", do: s.approve},
		{pattern: "POST /ui/runs/{run}/reject", do: s.reject},
		{pattern: "POST /ui/runs/{run}/undo", do: s.undo},
		{pattern: "POST /ui/groups/{group}/evolve", do: s.evolveNow},
	}
}
