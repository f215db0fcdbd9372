package rest

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("docs").Parse(pageSource))

type pageTag struct {
	*huma.Tag
	Operations []*huma.Operation
}

// page is the OpenAPI document for people.
func page(doc *huma.OpenAPI) []byte {
	var list []pageTag
	for _, t := range doc.Tags {
		list = append(list, pageTag{t, nil})
	}
	for op := range operations(doc) {
		for i, t := range list {
			if t.Name == op.Tags[0] {
				list[i].Operations = append(list[i].Operations, op)
			}
		}
	}
	for _, t := range list {
		slices.SortFunc(t.Operations, func(a, b *huma.Operation) int {
			return strings.Compare(a.Path+a.Method, b.Path+b.Method)
		})
	}
	var b bytes.Buffer
	paragraphs := strings.Split(doc.Info.Description, "\n\n")
	if err := pageTemplate.Execute(&b, map[string]any{"Doc": doc, "Tags": list, "About": paragraphs}); err != nil {
		panic(fmt.Sprintf("the page of the API cannot be made: %v",
			err)) // it is the same for everybody: tests would have seen it
	}
	return b.Bytes()
}

// operations are all of a document, in no order.
func operations(doc *huma.OpenAPI) func(yield func(*huma.Operation) bool) {
	return func(yield func(*huma.Operation) bool) {
		for _, item := range doc.Paths {
			for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
				if op != nil && !yield(op) {
					return
				}
			}
		}
	}
}
