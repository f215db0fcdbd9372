package ingest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// timesIn are the times of the messages that a format reads, by the clock of their zone.
func timesIn(t testing.TB, name string, src ingest.Source, opts ingest.ReadOptions) (times []string, err error) {
	t.Helper()
	f, err := ingest.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range f.Read(t.Context(), src, opts) {
		if err != nil {
			return times, err
		}
		times = append(times, r.Message.SentAt.Format("2006-01-02 15:04:05"))
	}
	return times, nil
}

// whatsApp is a chat in which Mira says something at each of these times.
func whatsApp(pattern string, times ...string) ingest.Source {
	var b strings.Builder
	for _, at := range times {
		b.WriteString(strings.Replace(pattern, "%", at, 1) + "Mira: hi\n")
	}
	return file("WhatsApp Chat with Mira.txt", b.String())
}

// TestWhatsAppTimes reads the ways in which phones write times.
func TestWhatsAppTimes(t *testing.T) {
	for name, c := range map[string]struct{ at, want string }{
		"English, in words":          {"31/12/25, 9:15 in the morning - ", "2025-12-31 09:15:00"},
		"English, an afternoon":      {"[31/12/2025, 6:04:59 in the afternoon] ", "2025-12-31 18:04:59"},
		"English, at night":          {"31/12/25, 12:15 at night - ", "2025-12-31 00:15:00"},
		"Spanish, small hours":       {"31/12/25, 1:15 de la madrugada - ", "2025-12-31 01:15:00"},
		"Spanish, a night":           {"31/12/25 9:15 de la noche - ", "2025-12-31 21:15:00"},
		"Portuguese":                 {"31/12/2025 9:15 da noite - ", "2025-12-31 21:15:00"},
		"Hindi, after midnight":      {"31/12/25, 1:15 रात - ", "2025-12-31 01:15:00"},
		"Indonesian":                 {"31/12/25 6.04 sore - ", "2025-12-31 18:04:00"},
		"Thai":                       {"31/12/2568 18:04 - ", "2025-12-31 18:04:00"},
		"Thai, with the era":         {"31/12/พ.ศ. 2568 18:04 - ", "2025-12-31 18:04:00"},
		"Reiwa":                      {"令和7年12月31日 18:04 - ", "2025-12-31 18:04:00"},
		"Reiwa in letters":           {"[R7/12/31 18:04:59] ", "2025-12-31 18:04:59"},
		"Reiwa on Android":           {"R7/12/31 午後6:04 - ", "2025-12-31 18:04:00"},
		"the first year":             {"令和元年12月31日 18:04 - ", "2019-12-31 18:04:00"},
		"Minguo":                     {"民國114/12/31 下午6:04 - ", "2025-12-31 18:04:00"},
		"a broken space":             {"[12/31/25, 6:04:59ÿPM] ", "2025-12-31 18:04:59"},
		"a space read as Latin":      {"12/31/25, 6:04â€¯PM - ", "2025-12-31 18:04:00"},
		"iPhone":                     {"[31/12/2025, 18:04:59] ", "2025-12-31 18:04:59"},
		"iPhone in America":          {"[12/31/25, 6:04:59\u202fPM] ", "2025-12-31 18:04:59"},
		"iPhone in Germany":          {"[31.12.25, 18:04:59] ", "2025-12-31 18:04:59"},
		"iPhone in Denmark":          {"[31.12.2025 18.04.59] ", "2025-12-31 18:04:59"},
		"iPhone in China":            {"[2025/12/31 下午6:04:59] ", "2025-12-31 18:04:59"},
		"iPhone in Chinese abroad":   {"[31/12/25 上午12:21:33] ", "2025-12-31 00:21:33"},
		"old iPhone":                 {"31/12/15 18:04:59: ", "2015-12-31 18:04:59"},
		"a mark in front":            {"\u200e[31/12/2025, 18:04:59] ", "2025-12-31 18:04:59"},
		"Android":                    {"31/12/2025, 18:04 - ", "2025-12-31 18:04:00"},
		"Android in America":         {"12/31/25, 6:04\u202fPM - ", "2025-12-31 18:04:00"},
		"noon":                       {"12/31/25, 12:04 PM - ", "2025-12-31 12:04:00"},
		"midnight":                   {"12/31/25, 12:04 AM - ", "2025-12-31 00:04:00"},
		"India":                      {"31/12/25, 6:04 pm - ", "2025-12-31 18:04:00"},
		"Spain":                      {"31/12/25 18:04 - ", "2025-12-31 18:04:00"},
		"Mexico":                     {"31/12/25, 6:04 p.\u00a0m. - ", "2025-12-31 18:04:00"},
		"Canada":                     {"2025-12-31, 6:04 p.m. - ", "2025-12-31 18:04:00"},
		"France":                     {"31/12/2025 à 18:04 - ", "2025-12-31 18:04:00"},
		"Finland":                    {"31.12.2025 klo 18.04 - ", "2025-12-31 18:04:00"},
		"Sweden":                     {"2025-12-31 18:04 - ", "2025-12-31 18:04:00"},
		"the Netherlands":            {"31-12-2025 18:04 - ", "2025-12-31 18:04:00"},
		"Hungary":                    {"2025. 12. 31. 18:04 - ", "2025-12-31 18:04:00"},
		"Korea":                      {"2025. 12. 31. 오후 6:04 - ", "2025-12-31 18:04:00"},
		"Japan":                      {"2025/12/31 18:04 - ", "2025-12-31 18:04:00"},
		"China":                      {"2025/12/31 下午6:04 - ", "2025-12-31 18:04:00"},
		"China, in the small hours":  {"2025/12/31 凌晨12:30 - ", "2025-12-31 00:30:00"},
		"China, at noon":             {"2025/12/31 中午12:30 - ", "2025-12-31 12:30:00"},
		"China, after noon":          {"2025/12/31 中午1:30 - ", "2025-12-31 13:30:00"},
		"China, before noon":         {"2025/12/31 中午11:30 - ", "2025-12-31 11:30:00"},
		"China, in the evening":      {"2025/12/31 晚上9:30 - ", "2025-12-31 21:30:00"},
		"Norway":                     {"31.12.2025 kl. 18.04 - ", "2025-12-31 18:04:00"},
		"Bulgaria":                   {"31.12.2025 г., 18:04 ч. - ", "2025-12-31 18:04:00"},
		"Vietnam":                    {"31/12/2025 lúc 18:04 - ", "2025-12-31 18:04:00"},
		"French Canada":              {"2025-12-31 18 h 04 - ", "2025-12-31 18:04:00"},
		"iPhone in French Canada":    {"[2025-12-31 18 h 04 min 59 s] ", "2025-12-31 18:04:59"},
		"China in words":             {"2025年12月31日 18:04 - ", "2025-12-31 18:04:00"},
		"Marathi digits":             {"३१/१२/२५, ६:०४ pm - ", "2025-12-31 18:04:00"},
		"Arabic":                     {"\u200f٣١\u200f/١٢\u200f/٢٠٢٥، ٦:٠٤ م - ", "2025-12-31 18:04:00"},
		"Vietnam, the time in front": {"18:04, 31/12/2025 - ", "2025-12-31 18:04:00"},
		"Thailand's years":           {"31/12/2568 18:04 - ", "2025-12-31 18:04:00"},
		"Thailand's short years":     {"31/12/68 18:04 - ", "2025-12-31 18:04:00"},
		"a long dash":                {"31/12/2025, 18:04 – ", "2025-12-31 18:04:00"},
	} {
		t.Run(name, func(t *testing.T) {
			src := whatsApp("%", c.at)
			if n := sure(t, "whatsapp", src); n < 80 {
				t.Errorf("known by %d", n)
			}
			got, err := timesIn(t, "whatsapp", src, ingest.ReadOptions{})
			if err != nil || !slices.Equal(got, []string{c.want}) {
				t.Errorf("read as %q, %v", got, err)
			}
		})
	}
}

// TestWhatsAppPreface: what stands in front of the first message is told as bad, and the rest is read.
func TestWhatsAppPreface(t *testing.T) {
	chat := "[31/12/2025, 18:04:59] Mira: hi\n[31/12/2025, 18:05:59] Jo: yo\n"
	in, err := ingest.Open(t.Context(), write(t, "_chat.txt", []byte("Exported by Mira\n\n"+chat)), nil)
	check(t, err)
	defer in.Close()
	f, err := ingest.Detect(in.Source)
	if err != nil || f.Name != "whatsapp" {
		t.Fatalf("it is taken for %q: %v", f.Name, err)
	}
	records, said := everything(t, f, in.Source)
	if len(records) != 2 || len(said) != 1 || !strings.HasPrefix(said[0], "line 1: no header") {
		t.Errorf("%+v, %q", records, said)
	}
	for _, text := range []string{strings.Repeat("a line\n", 6) + chat, "a line\n" + chat[:32]} {
		if f, err := ingest.Detect(file("notes.txt", text)); err == nil {
			t.Errorf("%q is taken for %s", text, f.Name)
		}
	}
}

// TestWhatsAppDateOrder tells day from month by all dates together, and asks where even
// those do not tell.
func TestWhatsAppDateOrder(t *testing.T) {
	for name, c := range map[string]struct {
		way   string
		times string // separated by spaces
		asked string
		want  string // the dates, or "" where it is asked
	}{
		"a day beyond 12":           {"%, 18:04 - ", "3/4/25 13/4/25", "", "2025-04-03 2025-04-13"},
		"a month in front":          {"%, 18:04 - ", "3/4/25 3/14/25", "", "2025-03-04 2025-03-14"},
		"the year in front":         {"%, 18:04 - ", "24/03/31 25/01/02", "", "2024-03-31 2025-01-02"},
		"it never goes back":        {"%, 18:04 - ", "1/11/25 2/1/25", "", "2025-01-11 2025-02-01"},
		"a day late is no way back": {"%, 18:04 - ", "5/1/25 4/1/25 13/1/25", "", "2025-01-05 2025-01-04 2025-01-13"},
		"one number runs":           {"%, 18:04 - ", "1/3/25 2/3/25 3/3/25 4/3/25 1/4/25", "", "2025-03-01 2025-03-02 2025-03-03 2025-03-04 2025-04-01"},
		"dots":                      {"[%, 18:04:01] ", "03.04.25", "", "2025-04-03"},
		"dashes":                    {"%, 18:04 - ", "03-04-2025", "", "2025-04-03"},
		"Korea's short years":       {"% 오후 6:04 - ", "25. 3. 4.", "", "2025-03-04"},
		"dashes against custom":     {"%, 18:04 - ", "24-07-03 24-07-04", "", "2024-07-03 2024-07-04"},
		"forward against custom":    {"%, 18:04 - ", "24-07-30 24-08-09", "", "2024-07-30 2024-08-09"},
		"by days, not by years":     {"%, 18:04 - ", "24-07-10 24-07-11 24-07-12 24-07-13", "", "2024-07-10 2024-07-11 2024-07-12 2024-07-13"},
		"by years is too few":       {"%, 18:04 - ", "12/1/24 1/12/25", "", ""},
		"custom is not asked":       {"%, 18:04 - ", "1-11-25 2-1-25", "", "2025-01-11 2025-02-01"},
		"nothing tells":             {"%, 18:04 - ", "3/4/25", "", ""},
		"alike in either order":     {"%, 18:04 - ", "5/5/26 5/5/26", "", "2026-05-05 2026-05-05"},
		"signs that contradict":     {"%, 6:04 PM - ", "03/04/2025", "", ""},
		"asked for":                 {"%, 18:04 - ", "3/4/25", "mdy", "2025-03-04"},
		"asked for otherwise":       {"%, 18:04 - ", "3/4/25", "dmy", "2025-04-03"},
		"asked for, the year first": {"%, 18:04 - ", "10/11/12", "ymd", "2010-11-12"},
		"asked against all dates":   {"%, 18:04 - ", "2025-03-31", "dmy", "2025-03-31"},
	} {
		t.Run(name, func(t *testing.T) {
			times := strings.Fields(c.times)
			if strings.Contains(c.times, ". ") {
				times = []string{c.times}
			}
			got, err := timesIn(t, "whatsapp", whatsApp(c.way, times...), ingest.ReadOptions{DateOrder: c.asked})
			if c.want == "" {
				if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), "--date-order") || len(got) > 0 {
					t.Errorf("read as %q, %v", got, err)
				}
				return
			}
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], " ")
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("read as %q, %v", got, err)
			}
		})
	}
}

// TestWhatsAppZone: times are of the zone that is asked for, and ids are not.
func TestWhatsAppZone(t *testing.T) {
	zone := time.FixedZone("east", 8*3600)
	f, err := ingest.Named("whatsapp")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, z := range []*time.Location{nil, zone} {
		for r, err := range f.Read(t.Context(), whatsApp("31/12/2025, %:04 - ", "18"), ingest.ReadOptions{Zone: z}) {
			want := time.Date(2025, 12, 31, 18, 4, 0, 0, time.UTC)
			if z != nil {
				want = want.Add(-8 * time.Hour)
			}
			if ids[r.Message.ID] = true; err != nil || !r.Message.SentAt.Equal(want) {
				t.Errorf("%v, %v", r.Message.SentAt, err)
			}
		}
	}
	if len(ids) != 1 {
		t.Errorf("%d ids", len(ids))
	}
}

// TestWhatsAppSaid tells what people said from what the app says in their place.
func TestWhatsAppSaid(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"words":                    {"hi", "hi"},
		"several lines":            {"one\ntwo\n\n12:30 - three", "one\ntwo\n\n12:30 - three"},
		"a colon":                  {"note: x: y", "note: x: y"},
		"nothing":                  {"", ""},
		"marks inside":             {"@\u2068Jo Ann\u2069 hi \u200efrom", "@Jo Ann hi from"},
		"a joined emoji":           {"👩\u200d🔬 ❤\ufe0f", "👩\u200d🔬 ❤\ufe0f"},
		"edited":                   {"see you <This message was edited>", "see you"},
		"edited, in German":        {"bis dann <Diese Nachricht wurde bearbeitet.>", "bis dann"},
		"edited, in Chinese":       {"明天见 \u200e<这条消息已经过编辑>", "明天见"},
		"deleted":                  {"This message was deleted", "event"},
		"deleted by oneself":       {"You deleted this message.", "event"},
		"deleted by another":       {"This message was deleted by admin Jo.", "event"},
		"deleted, in Chinese":      {"此消息已删除。", "event"},
		"deleted, in Portuguese":   {"Mensagem apagada", "event"},
		"deleted, in Hindi":        {"आपने इस मैसेज को मिटा दिया", "event"},
		"deleted, in Japanese":     {"このメッセージを削除しました", "event"},
		"deleted, in Korean":       {"이 메시지를 삭제했습니다.", "event"},
		"deleted, in Taiwan":       {"已收回此訊息", "event"},
		"edited, in Spanish":       {"nos vemos <Se editó este mensaje.>", "nos vemos"},
		"edited, in Hindi":         {"ठीक है <इस मैसेज में बदलाव किया गया>", "ठीक है"},
		"omitted, in Japanese":     {"\u200e画像は含まれていません", ""},
		"omitted, in Russian":      {"\u200eизображение отсутствует", ""},
		"omitted, in Brazil":       {"\u200eimagem ocultada", ""},
		"attached, with spaces":    {"< attached: 00000042-PHOTO-2026-01-12.jpg >", ""},
		"a poll in French":         {"SONDAGE :\nOù ?\nOPTION : Ici (1 vote)", "Où ?\n- Ici"},
		"deleted, in Russian":      {"Данное сообщение удалено.", "event"},
		"speaks of deleting":       {"I think you deleted this message. Why?", "I think you deleted this message. Why?"},
		"omitted":                  {"<Media omitted>", ""},
		"omitted, with a caption":  {"<Media omitted>\nthese two?", "these two?"},
		"omitted, in German":       {"<Medien ausgeschlossen>", ""},
		"omitted, in French":       {"<Médias omis>", ""},
		"omitted, in Chinese":      {"<省略影音内容>", ""},
		"omitted, in any language": {"<Hiányzó médiafájl>", ""},
		"a tag":                    {"<br>", "<br>"},
		"a tag with more":          {`<a href="x">`, `<a href="x">`},
		"an iPhone's":              {"image omitted", ""},
		"an iPhone's in Chinese":   {"\u200e图像已忽略", ""},
		"an iPhone's in Spanish":   {"sticker omitido", ""},
		"a document":               {"plan.pdf • \u200e3 pages \u200edocument omitted", ""},
		"an iPhone's caption":      {"our boat \u200eimage omitted", "our boat"},
		"speaks of omitting":       {"an image omitted", "an image omitted"},
		"attached":                 {"IMG-20260112-WA0004.jpg (file attached)", ""},
		"attached, with a caption": {"\u200eIMG-20260112-WA0004.jpg (Datei angehängt)\ndiese?", "diese?"},
		"attached, by its name":    {"rota final.pdf (arquivo anexado)", ""},
		"names a file":             {"see main.go (nice one)", "see main.go (nice one)"},
		"an iPhone's file":         {"\u200e<attached: 00000012-PHOTO-2026-01-12-18-09-40.jpg>", ""},
		"an iPhone's in German":    {"\u200e<Anhang: 00000012-PHOTO.jpg>", ""},
		"an iPhone's, in Chinese":  {"\u200e<附件：00000012-PHOTO.jpg>", ""},
		"an iPhone's document":     {"plan.pdf • \u200e3 pages \u200e<attached: 0007-plan.pdf>", ""},
		"an iPhone's with words":   {"our boat\n\u200e<attached: 0007-PHOTO.jpg>", "our boat"},
		"a call":                   {"null", ""},
		"seen once":                {"You received a view once message. For added privacy, you can only open it on your phone.", ""},
		"not there yet":            {"Waiting for this message. This may take a while.", ""},
		"a place":                  {"\u200eLocation: https://maps.google.com/?q=51.5,-0.12", "Location: https://maps.google.com/?q=51.5,-0.12"},
		"a poll":                   {"POLL:\nLunch?\nOPTION: Soup (1 vote)\nOPTION: Bread (hot) (0 votes)", "Lunch?\n- Soup\n- Bread (hot)"},
		"a poll in Spanish":        {"ENCUESTA:\n¿Cuándo?\nOPCIÓN: Hoy (0 votos)", "¿Cuándo?\n- Hoy"},
		"what happened":            {"\u200eMira added Jo", "event Mira added Jo"},
		"bad UTF-8":                {"caf\xe9", "café"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "whatsapp", file("WhatsApp Chat - Boat.txt", "[31/12/2025, 18:04:01] Mira: "+c.said+"\r\n[31/12/2025, 18:04:02] Jo: end\r\n"), ingest.ReadOptions{})
			if err != nil || len(got) != 2 || !strings.HasSuffix(got[1], " Jo: end") {
				t.Fatalf("told %q, %v", got, err)
			}
			_, said, _ := strings.Cut(got[0], " Mira")
			want := ": " + c.want
			if what, ok := strings.CutPrefix(c.want, "event"); ok {
				want = " event: " + strings.TrimPrefix(what, " ")
			}
			if said != want {
				t.Errorf("told %q, want %q", said, want)
			}
		})
	}
}

// TestWhatsAppAuthors tells whom a line is of, and lines of nobody.
func TestWhatsAppAuthors(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"a number":          {"\u202a+44\u00a07700\u00a0900123\u202c: hi", "+44 7700 900123: hi"},
		"not in the book":   {"~\u202fJo: hi", "Jo: hi"},
		"emoji and signs":   {"🛶 Mira (boat), Jr.: hi", "🛶 Mira (boat), Jr.: hi"},
		"quotes":            {`Jo "the pump" K: hi`, `Jo "the pump" K: hi`},
		"no words":          {"Mira:", "Mira: "},
		"a link":            {"Mira: https://a.example", "Mira: https://a.example"},
		"what happened":     {"Mira created group \"Boat: now\"", "Boat event: Mira created group \"Boat: now\""},
		"a new name":        {`Mira changed the group name from "a: b" to "c"`, `Boat event: Mira changed the group name from "a: b" to "c"`},
		"one in Chinese":    {"米拉将群组名称从“甲: 乙”更改为“丙”", "Boat event: 米拉将群组名称从“甲: 乙”更改为“丙”"},
		"one in German":     {"Mira hat den Betreff von „a: b“ zu „c“ geändert", "Boat event: Mira hat den Betreff von „a: b“ zu „c“ geändert"},
		"encryption":        {"Messages and calls are end-to-end encrypted.", "Boat event: Messages and calls are end-to-end encrypted."},
		"too long for one":  {strings.Repeat("word ", 30) + "so: hi", "Boat event: " + strings.Repeat("word ", 30) + "so: hi"},
		"a log of chat":     {"<mira>: hi", "Boat event: <mira>: hi"},
		"pasted from there": {"Mira: look\n[30/12/2025, 18:04:01] Jo: hi", "Mira: look\n[30/12/2025, 18:04:01] Jo: hi"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := toldBy(t, "whatsapp", file("WhatsApp Chat with Boat.txt", "31/12/2025, 18:04 - "+c.line+"\n31/12/2025, 18:05 - Jo: end\n"), ingest.ReadOptions{})
			if err != nil || len(got) != 2 || len(got[0]) < 38 || got[0][len("Boat ")+32+1:] != c.want {
				t.Errorf("told %q, %v", got, err)
			}
		})
	}
}

// TestWhatsAppNames finds the title of a chat, and the chat among files.
func TestWhatsAppNames(t *testing.T) {
	chat := "31/12/2025, 18:04 - Mira: hi\n"
	own := "[31/12/2025, 18:04:00] Boat: \u200eMessages and calls are end-to-end encrypted.\n"
	in := func(name string, src ingest.Source) ingest.Source { src.Name = name; return src }
	for name, c := range map[string]struct {
		src  ingest.Source
		want string
	}{
		"English":              {file("x/WhatsApp Chat with Boat trip.txt", chat), "Boat trip"},
		"a second copy":        {file("WhatsApp Chat with Boat (2).txt", chat), "Boat"},
		"German":               {file("WhatsApp Chat mit Boot.txt", chat), "Boot"},
		"Spanish":              {file("Chat de WhatsApp con Barco.txt", chat), "Barco"},
		"Portuguese":           {file("Conversa do WhatsApp com Barco.txt", chat), "Barco"},
		"Chinese":              {file("与划船的 WhatsApp 聊天.txt", chat), "划船"},
		"Japanese":             {file("WhatsAppチャット - ボート.txt", chat), "ボート"},
		"Korean":               {file("보트님과의 WhatsApp 대화.txt", chat), "보트"},
		"Hindi":                {file("नाव के साथ WhatsApp चैट.txt", chat), "नाव"},
		"Arabic":               {file("دردشة واتساب مع قارب.txt", chat), "قارب"},
		"Taiwan's":             {file("與划船的WhatsApp對話.txt", chat), "划船"},
		"renamed":              {file("boat.txt", chat), "boat"},
		"renamed, says itself": {file("boats.txt", own), "Boat"},
		"a stream":             {file("-", chat), "chat"},
		"an iPhone's archive":  {in("WhatsApp Chat - Boat.zip", files("_chat.txt", chat, "00000002-PHOTO.jpg", "\xff\xd8", "notes.txt", chat)), "Boat"},
		"unpacked":             {in("exports", files("WhatsApp Chat - Boat/_chat.txt", chat)), "Boat"},
		"unpacked by itself":   {file("x/WhatsApp Chat - Boat/_chat.txt", chat), "Boat"},
		"unpacked elsewhere":   {file("x/boats/_chat.txt", chat), "boats"},
		"Android's archive":    {in("x.zip", files("WhatsApp Chat with Boat.txt", chat, "WhatsApp.txt", chat, "__MACOSX/._WhatsApp Chat with Jo.txt", chat)), "Boat"},
		"several":              {files("WhatsApp Chat with A.txt", chat, "WhatsApp Chat with B.txt", chat), "A B"},
	} {
		t.Run(name, func(t *testing.T) {
			if n := sure(t, "whatsapp", c.src); n < 70 {
				t.Errorf("known by %d", n)
			}
			f, err := ingest.Named("whatsapp")
			if err != nil {
				t.Fatal(err)
			}
			var titles []string
			for r, err := range f.Read(t.Context(), c.src, ingest.ReadOptions{}) {
				if err != nil || r.Chat.ID != r.Chat.Name {
					t.Errorf("%+v, %v", r.Chat, err)
				}
				titles = append(titles, r.Chat.ID)
			}
			if got := strings.Join(titles, " "); got != c.want {
				t.Errorf("the chats are %q", got)
			}
		})
	}
	for _, no := range []string{"", "hello\nworld", "2026-01-15 10:11:12\tmira\thi", "[18:04] <mira> hi: x", "[2026-01-15 18:04:01] <mira> hi: x", "{\"a\":1}", "12/31/25 sales: 7\n",
		"[2026-01-15 18:04:01] [INFO]: mail: sent\n", "[2026-01-15 18:04:01] INFO worker: up\n", "[2026-01-15 18:04:01] event: {\"time\": 1}\n", "[2026-01-15 18:04:01] {\"time\": 1}\n"} {
		if n := sure(t, "whatsapp", file("chat.txt", no)); n > 0 {
			t.Errorf("%q is known by %d", no, n)
		}
	}
}

// TestWhatsAppIDs: a longer export of the same chat gives the same ids to the same
// messages, and no two the same.
func TestWhatsAppIDs(t *testing.T) {
	var b strings.Builder
	for i := range 600 { // some of them late
		fmt.Fprintf(&b, "%02d/12/2025, 18:%02d - %s: word %d\n", 13+i/120, i/20%30+i%2, []string{"Mira", "Jo"}[i/3%2], i)
	}
	var before []string
	for _, text := range []string{b.String()[:12_000], b.String()} {
		text = text[:strings.LastIndexByte(text, '\n')]
		var ids []string
		f, err := ingest.Named("whatsapp")
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range f.Read(t.Context(), file("WhatsApp Chat with Boat.txt", text), ingest.ReadOptions{}) {
			if err != nil || len(r.Message.ID) != 32 {
				t.Fatalf("%+v, %v", r, err)
			}
			ids = append(ids, r.Message.ID)
		}
		if len(ids) < 300 || !slices.Equal(ids[:len(before)], before) {
			t.Errorf("of %d ids the first %d are others than before", len(ids), len(before))
		}
		before = ids
	}
	slices.Sort(before)
	if n := len(slices.Compact(before)); n != 600 {
		t.Errorf("%d ids of 600 messages", n)
	}
}

// TestWhatsAppBroken tells what cannot be read, and goes on.
func TestWhatsAppBroken(t *testing.T) {
	got, err := toldBy(t, "whatsapp", file("WhatsApp Chat with Boat.txt", "lost\n\n31/12/2025, 18:04 - Dr: Who: a\n31/12/2025, 18:05 - Dr: Who: b\n31/12/2025, 18:05 - Dr: Who: c\n"+
		"31/13/2025, 18:06 - Jo: when?\nstill\n31/12/2025, 18:07 - Jo: "+strings.Repeat(strings.Repeat("long ", 200)+"\n", 1100)+"31/12/2025, 18:08 - Jo: "+strings.Repeat("x", 5<<20)+"\n31/12/2025, 18:09 - Jo: end"), ingest.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if rest, ok := strings.CutPrefix(got[i], "Boat "); ok {
			got[i] = rest[33:]
		}
	}
	same(t, got, "bad: no header", "Dr: Who: a", "Dr: Who: b", "Dr: Who: c", "bad: no such date", "bad: too long", "Jo: end")

	for text, want := range map[string]string{"": "no line of it begins with a date", "a\nb": "no line of it begins with a date"} {
		if got, err := toldBy(t, "whatsapp", file("x.txt", text), ingest.ReadOptions{}); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%q: told %q, %v", text, got, err)
		}
	}
}

func FuzzWhatsApp(f *testing.F) {
	f.Add("[31/12/2025, 18:04:01] Mira: \u200eimage omitted\nmore\n[1/1/26, 6:04:01 PM] \u202a~Jo: x \u200e<attached: 1-PHOTO.jpg>")
	f.Add("2025. 12. 31. 오후 6:04 - Mira: POLL:\nq\nOPTION: a (1 vote)\n٣١/١٢/٢٠٢٥، ٦:٠٤ م - : \n18:04, 31/12/68 – a:")
	f.Fuzz(func(t *testing.T, text string) {
		sure(t, "whatsapp", file("_chat.txt", text))
		readAnything(t, "whatsapp", file("_chat.txt", text))
		readAnything(t, "whatsapp", files("a/_chat.txt", text, "b.txt", text))
	})
}
