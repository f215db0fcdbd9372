package rest

import (
	"fmt"
	"strings"
)

// entityTag is a validator as headers have it (RFC 9110, 8.8.3).
type entityTag struct {
	weak   bool
	opaque string // without its quotes
}

// entityTags reads a header of validators: a list, or a star, which is any.
func entityTags(header string) (list []entityTag, star bool, err error) {
	rest := strings.Trim(header, " \t,")
	if rest == "*" {
		return nil, true, nil
	}
	for rest != "" {
		var tag entityTag
		if rest, tag.weak = strings.CutPrefix(rest, "W/"); !strings.HasPrefix(rest, `"`) {
			return nil, false, fmt.Errorf("%.60q is no list of ETags: each stands in double quotes", header)
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			return nil, false, fmt.Errorf("%.60q is no list of ETags: a quote is not closed", header)
		}
		tag.opaque, rest = rest[1:end+1], strings.TrimLeft(rest[end+2:], " \t")
		if rest != "" && rest[0] != ',' {
			return nil, false, fmt.Errorf("%.60q is no list of ETags: a comma is missing", header)
		}
		list, rest = append(list, tag), strings.TrimLeft(rest, " \t,")
	}
	return list, false, nil
}

// fresh tells whether what a client has is what it would get. A header that cannot be
// read is as good as none.
func fresh(ifNoneMatch, etag string) bool {
	list, star, _ := entityTags(ifNoneMatch)
	for _, tag := range list { // weak ones are good enough to read by
		star = star || `"`+tag.opaque+`"` == etag
	}
	return star
}
