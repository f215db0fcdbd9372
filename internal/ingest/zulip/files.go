package zulip

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"reverie/internal/ingest/export"
)

// tables reads what an export says of the people and places that its messages name by id.
func (z *reader) tables(files fs.FS, name string) error {
	people := false
	err := export.EachPart(files, name, func(part export.JSONPart) {
		var row struct {
			ID        export.Text `json:"id"`
			Name      string      `json:"name"`
			FullName  string      `json:"full_name"`
			Email     string      `json:"email"`
			Subdomain string      `json:"string_id"`
			IsBot     bool        `json:"is_bot"`
			Kind      export.Text `json:"type"`
			Of        export.Text `json:"type_id"`
		}
		if _ = json.Unmarshal(part.Value, &row); row.ID == "" { // what is of the wrong type is not there
			return
		}
		switch id := string(row.ID); part.Pattern {
		case "zerver_realm[]":
			z.realm = cmp.Or(row.Subdomain, row.Name) // the first one of a server has no subdomain
		case "zerver_stream[]":
			z.streams[id] = row.Name
		case "zerver_recipient[]":
			z.recipients[id] = recipient{kind: string(row.Kind), id: string(row.Of)}
			people = people || row.Kind == zulipPeople
		case "zerver_userprofile_crossrealm[]":
			_, system := program(row.Email)
			local, _, _ := strings.Cut(row.Email, "@")
			z.users[id] = user{name: export.Shortened(cmp.Or(row.FullName, local)), bot: true, system: system}
		default:
			z.users[id] = user{name: export.Shortened(row.FullName), bot: row.IsBot}
		}
	}, "zerver_realm[]", "zerver_stream[]", "zerver_recipient[]", "zerver_userprofile_crossrealm[]", "zerver_userprofile_mirrordummy[]", "zerver_userprofile[]")
	if err != nil || !people {
		return err
	}
	// Only now is it known which of the subscriptions, of which there are very many, matter.
	return export.EachPart(files, name, func(part export.JSONPart) {
		var row struct {
			User      export.Text `json:"user_profile"`
			Recipient export.Text `json:"recipient"`
		}
		_ = json.Unmarshal(part.Value, &row) // what is of the wrong type is not there
		if to := string(row.Recipient); row.User != "" && z.recipients[to].kind == zulipPeople {
			z.members[to] = append(z.members[to], string(row.User))
		}
	}, "zerver_subscription[]")
}

// export tells the messages of an organisation's export, or of one user's.
func (z *reader) export(ctx context.Context, files fs.FS, e zulipExport, yield func(export.Record, error) bool) bool {
	for _, name := range []string{"realm.json", "user.json"} {
		if err := z.tables(files, path.Join(e.root, name)); err != nil {
			yield(export.Record{}, err)
			return false
		}
	}
	export.InArchiveOrder(files, e.messages)
	for _, name := range e.messages {
		if !z.tell(export.FileParts(ctx, files, name, "zerver_message[]"), "", yield) {
			return false
		}
	}
	return true
}

// archive tells what zulip-archive keeps: a folder a channel, with a file a topic.
func (z *reader) archive(ctx context.Context, files fs.FS, e zulipExport, yield func(export.Record, error) bool) bool {
	err := export.EachPart(files, path.Join(e.root, "stream_index.json"), func(part export.JSONPart) {
		var row struct {
			ID export.Text `json:"id"`
		}
		_ = json.Unmarshal(part.Value, &row) // what is of the wrong type is not there
		z.streams[string(row.ID)] = part.Keys[0]
	}, "streams.*")
	if err == nil {
		err = export.EachPart(files, path.Join(e.root, "member_index.json"), func(part export.JSONPart) {
			var row struct {
				FullName string `json:"full_name"`
				Email    string `json:"email"`
			}
			_ = json.Unmarshal(part.Value, &row) // what is of the wrong type is not there
			bot, system := program(row.Email)
			z.users[part.Keys[0]] = user{name: export.Shortened(row.FullName), bot: bot, system: system}
		}, "*")
	}
	if err != nil {
		yield(export.Record{}, err)
		return false
	}
	var topics []string
	folders, _ := fs.ReadDir(files, e.root) // what cannot be listed is not there
	for _, f := range folders {
		within, _ := fs.ReadDir(files, path.Join(e.root, f.Name()))
		for _, t := range within {
			if path.Ext(t.Name()) == ".json" {
				topics = append(topics, path.Join(e.root, f.Name(), t.Name()))
			}
		}
	}
	export.InArchiveOrder(files, topics)
	for _, name := range topics {
		id, _, _ := strings.Cut(path.Base(path.Dir(name)), "-")
		if _, known := z.streams[id]; !known {
			id = "" // the messages say it, or are bad
		}
		if !z.tell(export.FileParts(ctx, files, name, "[]"), id, yield) {
			return false
		}
	}
	return true
}
