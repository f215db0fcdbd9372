package rest

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// documents serves the description of the API: the OpenAPI document in both notations, and a page for people. Each
// is created at its first request, and loads nothing from elsewhere.
func (r *room) documents() {
	doc := r.api.OpenAPI()
	for path, d := range map[string]struct {
		kind string
		make func() ([]byte, error)
	}{
		"/openapi.json": {"application/openapi+json", doc.MarshalJSON},
		"/openapi.yaml": {"application/openapi+yaml", doc.YAML},
		"/docs":         {"text/html; charset=utf-8", func() ([]byte, error) { return page(doc) }},
	} {
		text := sync.OnceValue(func() []byte {
			text, err := d.make()
			if err != nil { // the result never differs: tests would have found the error
				panic(fmt.Sprintf("%s cannot be written: %v", path, err))
			}
			return text
		})
		r.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", d.kind)
			w.Header().Set("Content-Security-Policy",
				"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			_, _ = w.Write(text())
		})
	}
}

const about = `Reverie keeps the long-term memory of chat groups: every night it takes a group's memories and its new messages, and decides what to keep, update, create and delete. Bots and agents read the memories back here.

Times are RFC 3339 in UTC. Errors are problems (RFC 9457). What a token may not see is answered as what does not exist. Ids in paths are percent-encoded.`

var tags = []*huma.Tag{
	{Name: memoryTag, Description: "What is remembered, its versions, and changes by hand."},
	{Name: recallTag, Description: "What bots read for their next turn, what they report, and what agents propose."},
	{Name: groupTag, Description: "Groups, what was said in them, and what their nights made of it."},
	{Name: runTag, Description: "What was done, what it held, and a person's decision on it."},
	{Name: peopleTag, Description: "What dreams have left, and the people and things of a group."},
	{Name: teamTag, Description: "Memories that several deployments share."},
	{Name: webhookTag, Description: "Who is told of what changes: docs/webhooks.md."},
	{Name: "costs", Description: "What models have cost."},
}

// word replaces a string type of the domain, so that the document lists its values.
type word[T ~string] struct{}

func (word[T]) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: values[reflect.TypeFor[T]()]}
}

var values = map[reflect.Type][]any{
	reflect.TypeFor[reverie.Kind](): texts(reverie.KindGroup, reverie.KindSession, reverie.KindDream, reverie.KindTeam),
	reflect.TypeFor[reverie.Status](): texts(reverie.StatusActive, reverie.StatusSuperseded, reverie.StatusDeprecated, reverie.StatusArchived,
		reverie.StatusHeld),
	reflect.TypeFor[reverie.Action](): texts(reverie.ActionKeep, reverie.ActionUpdate, reverie.ActionCreate,
		reverie.ActionDelete, reverie.ActionRestore, reverie.ActionArchive, reverie.ActionStrength, reverie.ActionWeight, reverie.ActionScope,
		reverie.ActionUndo),
	reflect.TypeFor[reverie.RunStatus](): texts(reverie.RunRunning, reverie.RunSucceeded, reverie.RunHeld,
		reverie.RunDeferred, reverie.RunFailed, reverie.RunRejected),
	reflect.TypeFor[reverie.Role]():         texts(reverie.RoleUser, reverie.RoleAssistant, reverie.RoleTool),
	reflect.TypeFor[reverie.EntityKind]():   texts(reverie.EntityPerson, reverie.EntityBot, reverie.EntityThing),
	reflect.TypeFor[reverie.EntityStatus](): texts(reverie.EntityActive, reverie.EntityMerged, reverie.EntityGone),
}

func texts[T ~string](list ...T) (all []any) {
	for _, w := range list {
		all = append(all, string(w))
	}
	return all
}

// aliases documents the domain's string types with their values.
func aliases(schemas huma.Registry) {
	alias[reverie.Kind](schemas)
	alias[reverie.Status](schemas)
	alias[reverie.Action](schemas)
	alias[reverie.RunStatus](schemas)
	alias[reverie.Role](schemas)
	alias[reverie.EntityKind](schemas)
	alias[reverie.EntityStatus](schemas)
}

func alias[T ~string](schemas huma.Registry) {
	schemas.RegisterTypeAlias(reflect.TypeFor[T](), reflect.TypeFor[word[T]]())
}

// propertyFile describes the fields of answers.
//
//go:embed properties.toml
var propertyFile string

// readProperties parses the descriptions, by shape and name; the shape "any" is for fields without a description of
// their own.
func readProperties() map[string]map[string]string {
	return text.ReadTOML[map[string]map[string]string](propertyFile)
}

// describe adds descriptions to properties without one.
func describe(doc *huma.OpenAPI) {
	properties := readProperties()
	narrative := doc.Components.Schemas.Map()["DreamPage"].Properties // a pointer that is encoded as null
	narrative["narrative"] = &huma.Schema{
		AnyOf:       []*huma.Schema{narrative["narrative"], {Type: "null"}},
		Description: "Of the last dream; null where there is none.",
	}
	for name, schema := range doc.Components.Schemas.Map() {
		for property, s := range schema.Properties {
			says, known := properties[name][property]
			if !known {
				says = properties["any"][property]
			}
			if s.Description == "" && s.Ref == "" {
				s.Description = says
			}
		}
	}
}

//go:embed page.html
var pageSource string

type pageTag struct {
	*huma.Tag
	Operations []*huma.Operation
}

// page renders the OpenAPI document for people.
func page(doc *huma.OpenAPI) ([]byte, error) {
	byTag := map[string][]*huma.Operation{}
	for op := range operations(doc) {
		byTag[op.Tags[0]] = append(byTag[op.Tags[0]], op)
	}
	var list []pageTag
	for _, t := range doc.Tags {
		ops := byTag[t.Name]
		slices.SortFunc(ops, func(a, b *huma.Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
		list = append(list, pageTag{t, ops})
	}
	var b bytes.Buffer
	paragraphs := strings.Split(doc.Info.Description, "\n\n")
	err := template.Must(template.New("docs").Parse(pageSource)).
		Execute(&b, map[string]any{"Doc": doc, "Tags": list, "About": paragraphs})
	return b.Bytes(), err
}

// operations yields all operations of a document, unordered.
func operations(doc *huma.OpenAPI) func(yield func(*huma.Operation) bool) {
	return func(yield func(*huma.Operation) bool) {
		for _, item := range doc.Paths {
			for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
				if op != nil && !yield(op) {
					return
				}
			}
		}
	}
}
