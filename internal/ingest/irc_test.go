package ingest_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reverie/internal/ingest"
)

// ircTold is what is told of a log: time, nick and text, without ids.
func ircTold(t *testing.T, src ingest.Source) (lines []string) {
	t.Helper()
	f, err := ingest.Named("irc")
	if err != nil {
		t.Fatal(err)
	}
	times, err := timesIn(t, "irc", src, ingest.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if src.Files == nil {
		src.Reader = strings.NewReader(string(src.Head))
	}
	for r, err := range f.Read(t.Context(), src, ingest.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		who := r.Message.Author
		if r.Event {
			who = "*"
		}
		if r.Bot {
			who += " (bot)"
		}
		lines = append(lines, times[len(lines)]+" "+who+": "+r.Message.Text)
	}
	return lines
}

// TestIRCClients reads the logs of each client.
func TestIRCClients(t *testing.T) {
	for name, c := range map[string]struct {
		file, log string
		want      []string
	}{
		"WeeChat": {"irc.libera.#lathe.weechatlog", "2026-01-15 09:00:00\t****  Beginning of log  ****\n2026-01-15 09:00:00\t-->\tjo (~jo@host.example) has joined #lathe\n" +
			"2026-01-15 09:01:10\t@mira\tchuck is loose\n2026-01-15 09:02:40\t *\tjo sighs\n2026-01-15 09:03:00\t<+jo>\tone\ntwo\n\n2026-01-15 09:04:00\t--\tNotice(pump): dry\n" +
			"2026-01-15 09:05:00\t--\tMode #lathe [+o jo] by mira\n2026-01-15 09:06:00\t\traw\n2026-01-15 09:07:00\tjo\t\x1b[31mred\x1b[0m\n",
			[]string{"2026-01-15 09:00:00 *: ****  Beginning of log  ****", "2026-01-15 09:00:00 *: jo (~jo@host.example) has joined #lathe", "2026-01-15 09:01:10 mira: chuck is loose",
				"2026-01-15 09:02:40 jo: jo sighs", "2026-01-15 09:03:00 jo: one\ntwo", "2026-01-15 09:04:00 pump (bot): dry", "2026-01-15 09:05:00 *: Mode #lathe [+o jo] by mira",
				"2026-01-15 09:06:00 *: raw", "2026-01-15 09:07:00 jo: red"}},
		"WeeChat with a zone": {"irc.libera.#lathe.weechatlog", "2026-01-15 09:01:10.123456+0100\tmira\thi\n", []string{"2026-01-15 09:01:10 mira: hi"}},
		"irssi": {"#lathe.log", "--- Log opened Thu Jan 15 23:58:01 2026\n23:58 -!- jo [~jo@host.example] has joined #lathe\n23:58 <@mira> chuck is loose\n23:59 < jo> 12:00 then\n23:59  * jo sighs\n" +
			"23:59 -pump(p@host.example)- dry\n--- Day changed Fri Jan 16 2026\n00:03 <mira> fixed\n00:03:59< jo> nice\n00:04 #lathe: <mira:#lathe> all\n--- Log closed Fri Jan 16 00:05:00 2026\n",
			[]string{"2026-01-15 23:58:00 *: jo [~jo@host.example] has joined #lathe", "2026-01-15 23:58:00 mira: chuck is loose", "2026-01-15 23:59:00 jo: 12:00 then", "2026-01-15 23:59:00 jo: jo sighs",
				"2026-01-15 23:59:00 pump (bot): dry", "2026-01-16 00:03:00 mira: fixed", "2026-01-16 00:03:59 jo: nice", "2026-01-16 00:04:00 mira: all"}},
		"irssi in German": {"#lathe.log", "--- Log opened Do Mär 05 23:58:01 2026\n23:58 <mira> spät\n--- Day changed Fr Mär 06 2026\n00:01 <mira> früh\n", []string{"2026-03-05 23:58:00 mira: spät", "2026-03-06 00:01:00 mira: früh"}},
		"HexChat": {"Libera-#lathe.log", "**** BEGIN LOGGING AT Wed Dec 31 23:50:15 2025\n\nDec 31 23:50:15 -->\tYou are now talking on #lathe\nDec 31 23:50:20 <mira>\tchuck is loose\nDec 31 23:50:30 *\tjo sighs\n" +
			"Dec 31 23:50:31 *\tjo (u@host.example) has joined\nDec 31 23:50:32 -pump/#lathe-\tdry\nDec 31 23:50:33 ---\tjo is now known as jo_\nJan 01 00:01:00 <mira>\thappy new year\n" +
			"Jan 01 00:01:01 >jo<\tpsst\nJan 01 00:01:02 *jo*\tyes?\n**** ENDING LOGGING AT Thu Jan  1 00:02:00 2026\n",
			[]string{"2025-12-31 23:50:15 *: You are now talking on #lathe", "2025-12-31 23:50:20 mira: chuck is loose", "2025-12-31 23:50:30 jo: jo sighs", "2025-12-31 23:50:31 *: jo (u@host.example) has joined",
				"2025-12-31 23:50:32 pump (bot): dry", "2025-12-31 23:50:33 *: jo is now known as jo_", "2026-01-01 00:01:00 mira: happy new year", "2026-01-01 00:01:01 *: >jo<\tpsst", "2026-01-01 00:01:02 jo: yes?"}},
		"HexChat's scrollback": {"#lathe.txt", "T 1768471445 <\x0303mira\x0f>\thi\n", []string{"2026-01-15 10:04:05 mira: hi"}},
		"ZNC": {"libera_#lathe_20260115.log", "[09:00:01] *** Joins: jo (~jo@host.example)\n[09:01:10] <mira> chuck is loose\n[09:02:40] * jo sighs\n[09:02:41] -pump- dry\n[09:02:42] <***> Buffer Playback...\n[09:03:00] Connected to IRC (x +6697)\n",
			[]string{"2026-01-15 09:00:01 *: Joins: jo (~jo@host.example)", "2026-01-15 09:01:10 mira: chuck is loose", "2026-01-15 09:02:40 jo: jo sighs", "2026-01-15 09:02:41 pump (bot): dry",
				"2026-01-15 09:02:42 *: Buffer Playback...", "2026-01-15 09:03:00 *: Connected to IRC (x +6697)"}},
		"mIRC": {"#lathe.Libera.log", "\r\nSession Start: Thu Jan 15 21:46:22 2026\r\nSession Ident: #lathe\r\n03[21:46] * Now talking in #lathe\r\n[21:47] <@mira> chuck is loose\r\n[21:47] * jo sighs\r\n[21:47] * jo left the shop\r\n" +
			"\x0303[21:48] * jo (u@host.example) has left #lathe (bye)\r\n[21:48] * mira sets mode: +o jo\r\n<jo> no time\r\nSession Time: Fri Jan 16 00:00:00 2026\r\n[00:01] <mira> late\r\nSession Close: Fri Jan 16 00:02:00 2026\r\n",
			[]string{"2026-01-15 21:46:00 *: Now talking in #lathe", "2026-01-15 21:47:00 mira: chuck is loose", "2026-01-15 21:47:00 jo: jo sighs", "2026-01-15 21:47:00 jo: jo left the shop",
				"2026-01-15 21:48:00 *: jo (u@host.example) has left #lathe (bye)", "2026-01-15 21:48:00 *: mira sets mode: +o jo", "2026-01-15 21:48:00 jo: no time", "2026-01-16 00:01:00 mira: late"}},
		"mIRC with dates": {"#lathe.log", "[15/01/2026 - 21:47] <mira> hi\n", []string{"2026-01-15 21:47:00 mira: hi"}},
		"Textual": {"#lathe.txt", "[2026-01-15T09:01:10-0500] <@mira> chuck is loose\n[2026-01-15T09:02:40-0500] • jo: sighs\n[2026-01-15T09:02:41-0500] jo (u@host.example) joined the channel\n",
			[]string{"2026-01-15 09:01:10 mira: chuck is loose", "2026-01-15 09:02:40 jo: jo sighs", "2026-01-15 09:02:41 *: jo (u@host.example) joined the channel"}},
		"The Lounge":   {"#lathe.log", "[2026-01-15T10:11:12.000Z] <mira> hi\n[2026-01-15T10:11:13.000Z] *** jo (u@host.example) joined\n", []string{"2026-01-15 10:11:12 mira: hi", "2026-01-15 10:11:13 *: jo (u@host.example) joined"}},
		"Konversation": {"#lathe.log", "[Thu Jan 15 2026] [10:11:12] <mira>\thi\n", []string{"2026-01-15 10:11:12 mira: hi"}},
		"Quassel":      {"#lathe.log", "[2026-01-15] [10:11:12] <mira> hi\n", []string{"2026-01-15 10:11:12 mira: hi"}},
		"eggdrop":      {"#lathe.log", "--- Thu Jan 15 2026\n[00:02] <mira> hi\n[00:03] Action: jo waves\n", []string{"2026-01-15 00:02:00 mira: hi", "2026-01-15 00:03:00 jo: jo waves"}},
		"dircproxy":    {"2026-01-15-lathe.log", "[15 Jan 10:36] --> jo (n=jo@host.example) joined the channel\n[15 Jan 10:37] <mira!n=mira@host.example> chuck is loose\n", []string{"2026-01-15 10:36:00 *: jo (n=jo@host.example) joined the channel", "2026-01-15 10:37:00 mira: chuck is loose"}},
		"supybot":      {"#lathe.log", "2026-01-15T10:11:12  <mira> hi\n", []string{"2026-01-15 10:11:12 mira: hi"}},
		"an action in code": {"#lathe.log", "2026-01-15 10:11:12 <mira> \x01ACTION waves\x01\n2026-01-15 10:11:13 <mira> \x02bold\x02 \x0304,01red\x03 3\n",
			[]string{"2026-01-15 10:11:12 mira: mira waves", "2026-01-15 10:11:13 mira: bold red 3"}},
		"mIRC's other stars": {"#lathe.Libera.20260115.log", "[09:00] *** jo has joined #lathe\n[09:01] <jo> hi\n[09:02] ** jo sighs\n",
			[]string{"2026-01-15 09:00:00 *: jo has joined #lathe", "2026-01-15 09:01:00 jo: hi", "2026-01-15 09:02:00 jo: jo sighs"}},
		"mIRC by twelve hours": {"#lathe.20260115.log", "[09:00:01 am] <mira> hi\n[12:05 PM] <jo> noon\n[01:00:00 pm] <mira> one\n",
			[]string{"2026-01-15 09:00:01 mira: hi", "2026-01-15 12:05:00 jo: noon", "2026-01-15 13:00:00 mira: one"}},
		"catgirl": {"2026-01-15.log", "[2026-01-15T10:00:00+0000] mira arrives in #lathe\n[2026-01-15T10:00:01+0000] <mira> hi\n[2026-01-15T10:00:03+0000] mira places a new sign in #lathe: a: b\n[2026-01-15T10:00:04+0000] mira leaves #lathe: bye\n",
			[]string{"2026-01-15 10:00:00 *: mira arrives in #lathe", "2026-01-15 10:00:01 mira: hi", "2026-01-15 10:00:03 *: mira places a new sign in #lathe: a: b", "2026-01-15 10:00:04 *: mira leaves #lathe: bye"}},
		"eggdrop's events": {"lathe.log", "[00:00] --- Thu Jan 15 2026\n[00:02] <mira> hi\n[00:03] jo (jo@host) joined #lathe.\n[00:04] jo (jo@host) left irc: Ping timeout\n[00:05] Nick change: kim -> kim_\n" +
			"[00:06] #lathe: mode change '+o kim_' by mira!m@host\n[00:07] Topic changed on #lathe by mira!m@host: new: topic\n[00:08] Last message repeated 3 time(s).\n",
			[]string{"2026-01-15 00:02:00 mira: hi", "2026-01-15 00:03:00 *: jo (jo@host) joined #lathe.", "2026-01-15 00:04:00 *: jo (jo@host) left irc: Ping timeout", "2026-01-15 00:05:00 *: Nick change: kim -> kim_",
				"2026-01-15 00:06:00 *: #lathe: mode change '+o kim_' by mira!m@host", "2026-01-15 00:07:00 *: Topic changed on #lathe by mira!m@host: new: topic", "2026-01-15 00:08:00 *: Last message repeated 3 time(s)."}},
		"no times at all": {"lathe.log", "IRC log started Thu Jan 15 09:00:00 2026\n*** Value of LOG set to ON\n<mira> hi\n* jo waves\nIRC log ended Thu Jan 15 10:00:00 2026\n",
			[]string{"2026-01-15 09:00:00 *: Value of LOG set to ON", "2026-01-15 09:00:00 mira: hi", "2026-01-15 09:00:00 jo: jo waves"}},
		"days in words": {"lathe.log", "[Thursday 15 January 2026] [10:11:12] <mira>\thi\n[Thursday, 15. Januar 2026] [10:11:13 CET] <jo>\tyo\n[Thu Jan 15 2026] [10:11:14] Join\tkim has joined this channel (k@host).\n",
			[]string{"2026-01-15 10:11:12 mira: hi", "2026-01-15 10:11:13 jo: yo", "2026-01-15 10:11:14 *: Join\tkim has joined this channel (k@host)."}},
		"past midnight without a word": {"#lathe_20260115.log", "[23:59] <mira> late\n[00:01] <mira> early\n[23:00] <mira> on\n[22:10] <jo> a clock set back\n",
			[]string{"2026-01-15 23:59:00 mira: late", "2026-01-16 00:01:00 mira: early", "2026-01-16 23:00:00 mira: on", "2026-01-16 22:10:00 jo: a clock set back"}},
		"several encodings": {"#lathe.log", "2026-01-15 10:11:12 <mira> gr\xfc\xdfe\n2026-01-15 10:11:13 <mira> grüße\n2026-01-15 10:11:14 <mira> \xc4\xe3\xba\xc3\n2026-01-15 10:11:15 <mira> ok\n2026-01-15 10:11:16 <mira> \x81\x81\xff\n",
			[]string{"2026-01-15 10:11:12 mira: grüße", "2026-01-15 10:11:13 mira: grüße", "2026-01-15 10:11:14 mira: 你好", "2026-01-15 10:11:15 mira: ok", "2026-01-15 10:11:16 mira: \ufffd"}},
	} {
		t.Run(name, func(t *testing.T) {
			src := file(c.file, c.log)
			if n := sure(t, "irc", src); n < 80 {
				t.Errorf("known by %d", n)
			}
			same(t, ircTold(t, src), c.want...)
		})
	}
	for _, no := range []string{"10:00 Opening: Mira\n11:00 Opening: Jo\n12:00 Opening: Kim\n", "10:00 Anna: hi\n11:00 lunch\n12:00 Bo: tea\n", "", "hello", "{}", "[31/12/2025, 18:04:01] Mira: hi", "12/31/25, 6:04 PM - Mira: hi", "# Notes\n* one\n* two\n--- \n", "10:00 start\n11:00 end\n"} {
		if n := sure(t, "irc", file("x.log", no)); n > 0 {
			t.Errorf("%q is known by %d", no, n)
		}
	}
}

// TestIRCFiles finds network and channel in the names of files and folders, and reads the
// files of each in order of date.
func TestIRCFiles(t *testing.T) {
	dated := func(day, text string) string { return "2026-01-" + day + " 10:11:12 <mira> " + text + "\n" }
	clock := "[10:11:12] <mira> hi\n"
	in := func(name string, src ingest.Source) ingest.Source { src.Name = name; return src }
	for name, c := range map[string]struct {
		src  ingest.Source
		want string
	}{
		"WeeChat":               {file("x/irc.libera.#lathe.weechatlog", dated("15", "a")), "libera/#lathe 15 a"},
		"a date and a part":     {files("#lathe/2026-01-15_03.raw.txt", clock, "#lathe/2026-01-15_04.raw.txt", clock), "#lathe 15 hi, #lathe 15 hi"},
		"a date in front":       {file("20260115_#lathe.log", clock), "#lathe 15 hi"},
		"a date with points":    {file("channel_#lathe_2026.01.15.log", clock), "channel/#lathe 15 hi"},
		"a date within":         {file("#lathe-2026-01-15-part2.log", clock), "#lathe 15 hi"},
		"WeeChat by days":       {files("2026/irc.libera.#lathe.01-16.weechatlog", dated("16", "b"), "2026/irc.libera.#lathe.01-15.weechatlog", dated("15", "a")), "libera/#lathe 15 a, libera/#lathe 16 b"},
		"irssi":                 {files("irclogs/libera/#lathe.log", dated("15", "a"), "irclogs/oftc/#lathe.log", dated("14", "b")), "libera/#lathe 15 a, oftc/#lathe 14 b"},
		"irssi by days":         {files("libera/#lathe/2026-01-16.log", clock, "libera/#lathe/2026-01-15.log", clock), "libera/#lathe 15 hi, libera/#lathe 16 hi"},
		"ZNC":                   {files("users/mira/networks/libera/moddata/log/#lathe/2026-01-15.log", clock), "libera/#lathe 15 hi"},
		"ZNC of old":            {files("libera_#lathe_20260115.log", clock, "mira_libera_#pump_20260114.log", clock), "libera/#lathe 15 hi, mira_libera/#pump 14 hi"},
		"mIRC":                  {files("logs/#lathe.Libera.20260115.log", clock, "logs/jo.log", dated("14", "b")), "jo 14 b, libera/#lathe 15 hi"},
		"Textual":               {files("Libera (ab12c)/Channels/#lathe/2026-01-15.txt", clock, "Libera (ab12c)/Queries/jo/2026-01-15.txt", clock), "libera/#lathe 15 hi, libera/jo 15 hi"},
		"folders a day":         {files("2026/01/15/#lathe.txt", "=== jo [~jo@host.example] has joined #lathe\n"+clock, "2026/01/14/#lathe.txt", clock), "#lathe 14 hi, #lathe 15 jo [~jo@host.example] has joined #lathe, #lathe 15 hi"},
		"one of a folder a day": {file("logs/2026/01/15/#lathe.txt", clock), "#lathe 15 hi"},
		"one of a day":          {file("logs/libera/#lathe/2026-01-15.log", clock), "libera/#lathe 15 hi"},
		"a channel's folder":    {in("/home/mira/#lathe", files("2026-01-15.log", clock)), "#lathe 15 hi"},
		"no name at all":        {file("-", dated("15", "a")), "irc 15 a"},
		"by the lines' dates":   {files("#lathe/b.log", dated("15", "a"), "#lathe/a.log", dated("16", "b")), "#lathe/a 16 b, #lathe/b 15 a"},
		"day, month, year":      {files("#lathe-14-01-2026.log", clock, "#lathe-13-01-2026.log", clock), "#lathe 13 hi, #lathe 14 hi"},
		"month, day, year":      {files("#lathe_01.15.2026.log", clock, "#lathe_01.01.2026.log", clock), "#lathe 01 hi, #lathe 15 hi"},
		"without between":       {file("#lathe15012026.log", clock), "#lathe 15 hi"},
		"the lines' dates":      {file("#lathe-05-11-2004.log", dated("15", "a")), "#lathe 15 a"},
		"the month's name":      {file("#lathe.log.15Jan2026", clock), "#lathe 15 hi"},
		"and between others":    {files("#lathe-2026-jan-14.log", clock, "#lathe_January 13, 2026.txt", clock, "#lathe.12.janvier.2026.log", clock), "#lathe 12 hi, #lathe 13 hi, #lathe 14 hi"},
		"a clock like a year":   {file("#lathe-2026-01-15-2010.log", clock), "#lathe 15 hi"},
		"a folder a month":      {files("#lathe/2026-01/15.log", clock, "#lathe/2026/01/14.log", clock), "#lathe 14 hi, #lathe 15 hi"},
		"two signs between":     {files("2026__01__15__#lathe.txt", clock), "#lathe 15 hi"},
		"a clock behind":        {files("#lathe-2026-01-15-10-11-12.log", clock), "#lathe 15 hi"},
		"a backup's folder":     {files("backup-2025-01-02/#lathe.log", dated("15", "a")), "backup-2025-01-02/#lathe 15 a"},
		"others are left alone": {files("#lathe.log", dated("15", "a"), "README.txt", "hello", "x.json", "{}"), "#lathe 15 a"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := ingest.Named("irc")
			if err != nil {
				t.Fatal(err)
			}
			if f.Knows(c.src) < 60 {
				t.Error("not known")
			}
			var got []string
			for r, err := range f.Read(t.Context(), c.src, ingest.ReadOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.Join([]string{r.Chat.ID, r.Message.SentAt.Format("02"), r.Message.Text}, " "))
			}
			if told := strings.Join(got, ", "); told != c.want {
				t.Errorf("told %s", told)
			}
		})
	}
}

// TestIRCDayOrder: if the name of a file does not tell day from month, and the lines have no date, the import asks.
func TestIRCDayOrder(t *testing.T) {
	for asked, want := range map[string]string{"dmy": "2004-11-05 10:11:12", "mdy": "2004-05-11 10:11:12", "ymd": "", "": ""} {
		got, err := timesIn(t, "irc", file("#lathe-05-11-2004.log", "[10:11:12] <mira> hi\n"), ingest.ReadOptions{DateOrder: asked})
		if want == "" && (err == nil || !strings.Contains(err.Error(), "--date-order")) || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", asked, got, err)
		}
	}
	src := files("#lathe-05-11-2004.log", "[10:11:12] <mira> hi\n", "#lathe-13-11-2004.log", "[10:11:12] <mira> hi\n")
	got, err := toldBy(t, "irc", src, ingest.ReadOptions{})
	if told := strings.Join(got, "; "); err != nil || len(got) != 2 || !strings.Contains(told, "bad: broken file") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestIRCIDs are the same for the same messages, in a longer log and in another zone, and
// never twice, across files too.
func TestIRCIDs(t *testing.T) {
	day := strings.Repeat("[10:11] <mira> hi\n[10:11] <jo> hi\n[10:11] * jo waves\n[10:11] *** jo sets mode: +o mira\n", 20)
	read := func(zone *time.Location, pairs ...string) (ids []string) {
		f, err := ingest.Named("irc")
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range f.Read(t.Context(), files(pairs...), ingest.ReadOptions{Zone: zone}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.Message.ID)
		}
		return ids
	}
	short := read(time.UTC, "#lathe/2026-01-15.log", day)
	long := read(time.FixedZone("east", 3600), "#lathe/2026-01-15.log", day+day, "#lathe/2026-01-15.txt", day, "#lathe/2026-01-16.log", day)
	if len(short) != 80 || !slices.Equal(long[:80], short) {
		t.Errorf("%d ids, and in the longer log others", len(short))
	}
	slices.Sort(long)
	if n := len(slices.Compact(slices.Clone(long))); n != 320 || len(long) != 320 {
		t.Errorf("%d ids of %d messages", n, len(long))
	}
}

// TestIRCBroken tells what cannot be read, and goes on.
func TestIRCBroken(t *testing.T) {
	got, err := toldBy(t, "irc", file("#lathe.log", "10:11 <mira> when?\n<mira> when?\nJan 15 10:11:12 <mira> when?\n--- Log opened Thu Jan 15 09:00:00 2026\nno line\n10:12 <mira> "+strings.Repeat("x", 5<<20)+
		"\n2026-02-31 10:11:12 <mira> never\n25:61 <mira> never\n--- Day changed Thu Foo 15 2026\n10:13 <mira> when?\n2026-01-16 10:14:00 <mira> now\n10:15 <mira> and now"), ingest.ReadOptions{})
	if err != nil {
		t.Error(err)
	}
	for i := range got {
		if rest, ok := strings.CutPrefix(got[i], "#lathe "); ok {
			got[i] = rest[33:]
		}
	}
	same(t, got, "bad: no date", "bad: no date", "bad: no date", "bad: no time", "bad: too long", "bad: no date", "bad: no time", "bad: no date", "mira: now", "mira: and now")

	src := ingest.Source{Name: "logs", Files: fstest.MapFS{"#lathe.log": {Data: []byte("2026-01-15 10:11:12 <mira> hi\n")}, "empty.log": {}}}
	if got := ircTold(t, src); len(got) != 1 {
		t.Errorf("told %q", got)
	}
}

func FuzzIRC(f *testing.F) {
	f.Add("#lathe.log", "--- Log opened Thu Jan 15 23:58:01 2026\n23:58 <@mira> x\n00:01  * jo sighs\n00:02 -pump(p@h)- dry\n\x0303[00:03] * a is now known as b\n")
	f.Add("irc.libera.#lathe.weechatlog", "2026-01-15 09:01:10.5+0100\t@mira\ta\nb\n[Thu Jan 15 2026] [10:11:12] <mira>\thi\nT 1768471445 <x>\ty\nJan 15 10:11:12 <mira>\tz\n[15/01/2026 - 21:47] • a: b")
	f.Fuzz(func(t *testing.T, name, text string) {
		sure(t, "irc", file(name, text))
		readAnything(t, "irc", file(name, text))
	})
}
