package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// wide is how long a line of comment may be, in characters.
const wide = 88

const initHead = `# The configuration of Reverie.
#
# Every setting stands here at its default, behind a #: take the # away to change
# it. Flags win over the environment, the environment over this file. The name
# after "env" is the setting's environment variable; an empty variable counts as
# unset. An unknown key in this file is an error. ` + "`reverie config`" + ` shows what is in
# effect, and where each value came from.
`

// WriteInit writes a complete reverie.toml: every setting with its
// explanation, its environment name and its default, commented out. Lines of
// settings begin with # and no space, so that they are told from prose.
func WriteInit(w io.Writer) error {
	cfg, err := configSchema().defaults()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, initHead)
	for _, sec := range configSchema().sections {
		fmt.Fprintln(out)
		writeComment(out, sec.comment)
		fmt.Fprintf(out, "[%s]\n", sec.path)
		for _, s := range configSchema().settings {
			if s.section != sec.path {
				continue
			}
			fmt.Fprintln(out)
			writeComment(out, s.comment)
			fmt.Fprintf(out, "# env %s\n", s.env)
			fmt.Fprintf(out, "#%s = %s\n", s.key, s.initText(cfg))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the configuration file: %w", err)
	}
	return nil
}

// initText is the default as the file shows it: lists one item a line, each
// behind its own #.
func (s *setting) initText(cfg *Config) string {
	items, ok := s.field(cfg).Interface().([]string)
	if !ok || len(items) < 2 {
		return s.text(cfg)
	}
	var b strings.Builder
	b.WriteString("[\n")
	for _, item := range items {
		fmt.Fprintf(&b, "#%q,\n", item)
	}
	b.WriteString("#]")
	return b.String()
}

// writeComment writes prose behind "# ", broken between words.
func writeComment(w io.Writer, text string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > wide && line != "#" {
			fmt.Fprintln(w, line)
			line = "#"
		}
		line += " " + word
	}
	if line != "#" {
		fmt.Fprintln(w, line)
	}
}
