package lines

import "testing"

// The library is trusted with punctuation alone: whatever else it may change in
// a skeleton is refused.
func TestFill(t *testing.T) {
	const in = `{a:"x", 'b':[True, 2, {c:None}], d: word,}`
	s := newReader(in).scan(0)
	if s.reason != "" {
		t.Fatalf("scan: %s", s.reason)
	}
	for _, c := range []struct{ name, skeleton, want string }{
		{"mended", `{"a":"2","b":[true,2,{"c":null}],"d":"9"}`, `{"a":"x","b":[true,2,{"c":null}],"d":"word"}`},
		{"text is never taken from it", `{"other":"delete","b":[true,2,{"c":null}],"d":""}`, `{"a":"x","b":[true,2,{"c":null}],"d":"word"}`},
		{"another literal", `{"a":"2","b":[false,2,{"c":null}],"d":"9"}`, ""},
		{"another number", `{"a":"2","b":[true,20,{"c":null}],"d":"9"}`, ""},
		{"a literal for text", `{"a":null,"b":[true,2,{"c":null}],"d":"9"}`, ""},
		{"text for a literal", `{"a":"2","b":["true",2,{"c":null}],"d":"9"}`, ""},
		{"one less", `{"a":"2","b":[true,2,{"c":null}]}`, ""},
		{"one more", `{"a":"2","b":[true,2,{"c":null}],"d":"9","e":null}`, ""},
		{"other nesting", `{"a":"2","b":[true,2],"c":null,"d":"9"}`, ""},
		{"another object behind", `{"a":"2","b":[true,2,{"c":null}],"d":"9"}{}`, ""},
		{"no JSON", `{"a":"2","b":[true,2,{"c":null}],"d":"9",}`, ""},
		{"nothing", ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := s.fill([]byte(c.skeleton))
			if ok != (c.want != "") || ok && string(got) != c.want {
				t.Errorf("fill(%s) = %s, %v, want %s", c.skeleton, got, ok, c.want)
			}
		})
	}
}
