package web

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var colourPattern = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`)

// TestContrast computes the contrast of what is read on what, in light and in dark: 4.5
// for text, 3 for the edges of what can be filled in and for bars.
func TestContrast(t *testing.T) {
	css, err := assetFiles.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(css), "prefers-color-scheme: dark")
	if !found {
		t.Fatal("no colours for the dark")
	}
	dark, _, _ = strings.Cut(dark, "\n}\n")
	grounds := []string{"page", "sheet", "raised"}
	texts := map[string][]string{"ink": append(grounds, "accent-soft", "good-soft", "warn-soft", "bad-soft"), "quiet": grounds, "accent": append(grounds, "accent-soft"),
		"on-accent": {"accent"}, "good": append(grounds, "good-soft"), "warn": {"page", "sheet", "warn-soft"}, "bad": append(grounds, "bad-soft")}
	shapes := map[string][]string{"edge": {"page", "sheet"}, "bar-created": {"sheet"}, "bar-updated": {"sheet"}, "bar-deleted": {"sheet"}}
	for scheme, part := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range colourPattern.FindAllStringSubmatch(part, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for least, pairs := range map[float64]map[string][]string{4.5: texts, 3: shapes} {
			for on, grounds := range pairs {
				for _, ground := range grounds {
					a, known := colours[on]
					b, groundKnown := colours[ground]
					if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); !known || !groundKnown || got < least {
						t.Errorf("%s: %s on %s has a contrast of %.2f, and needs %.1f", scheme, on, ground, got, least)
					}
				}
			}
		}
	}
}

// luminance is that of a colour, as WCAG reckons it.
func luminance(t *testing.T, hex string) float64 {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		c := float64(n>>(8*i)&0xff) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestClasses has every class that templates give known to the style sheet.
func TestClasses(t *testing.T) {
	css, err := assetFiles.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	sheet := string(css)
	if strings.Contains(sheet, "url(") || strings.Contains(sheet, "@import") {
		t.Error("the style sheet loads something")
	}
	for _, dir := range []string{"templates", "templates/shared"} {
		entries, err := templateFiles.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			body, err := templateFiles.ReadFile(dir + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAllString(string(body), " "), -1) {
				for _, class := range strings.Fields(m[1]) {
					if !strings.Contains(sheet, "."+class) {
						t.Errorf("%s: class %q has no rule", e.Name(), class)
					}
				}
			}
		}
	}
}
