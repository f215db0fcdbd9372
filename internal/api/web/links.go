package web

import (
	"net/url"

	"reverie/internal/reverie"
)

// Where things are. Ids are escaped: a group's may be anything.

const (
	homeURL  = "/ui/"
	loginURL = "/ui/login"
	heldURL  = "/ui/held"
	costURL  = "/ui/cost"
	runsURL  = "/ui/runs"
)

func groupURL(groupID string) string     { return "/ui/groups/" + url.PathEscape(groupID) }
func memoriesURL(groupID string) string  { return groupURL(groupID) + "/memories" }
func diffURL(groupID string) string      { return memoriesURL(groupID) + "/diff" }
func recallURL(groupID string) string    { return groupURL(groupID) + "/recall" }
func dreamURL(groupID string) string     { return groupURL(groupID) + "/dream" }
func peopleURL(groupID string) string    { return groupURL(groupID) + "/people" }
func talkURL(groupID string) string      { return groupURL(groupID) + "/conversation" }
func memoryURL(memoryID string) string   { return "/ui/memories/" + url.PathEscape(memoryID) }
func runURL(runID string) string         { return runsURL + "/" + url.PathEscape(runID) }
func groupRunsURL(groupID string) string { return query(runsURL, "group", groupID) }

func jobRunsURL(groupID string, job reverie.Job) string {
	return query(runsURL, "group", groupID, "job", string(job))
}
func groupCostURL(groupID string) string { return query(costURL, "group", groupID) }

func personURL(groupID, entityID string) string {
	return peopleURL(groupID) + "/" + url.PathEscape(entityID)
}

// messageURL is a message in its conversation.
func messageURL(groupID, messageID string) string {
	return query(talkURL(groupID), "around", messageID) + "#m"
}

// nightURL is a night on the group's timeline.
func nightURL(date string) string { return "#n" + date }

// query adds names and values to an address; values that are "" are left out.
func query(address string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return address
	}
	return address + "?" + q.Encode()
}
