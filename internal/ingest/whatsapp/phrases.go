package whatsapp

import (
	"strings"
	"unicode/utf8"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// waLongestPhrase is more than the app puts in the place of words, in bytes.
const waLongestPhrase = 400

// The app's own words among people's, in the languages that exports are known in. They
// count where they are all of a text, or where marks, brackets or file names set them off,
// so that nobody's sentence is taken for them.
var (
	// waEncrypted is the notice at the beginning of a chat.
	waEncrypted = text.NewPattern(`(?i)end-to-end[- ](?:encrypt|versleuteld)|端到端加密|端對端加密|Ende-zu-Ende-verschlüsselt|Ende-zu-Ende-Verschlüsselung|de extremo a extremo|de ponta a ponta|de bout en bout|crittograf\S* end-to-end|сквозн\S+ шифрован|uçtan uca şifreli|エンドツーエンド|종단간|end-to-end terenkripsi|terenkripsi (?:secara )?end-to-end`)

	waDeleted = text.NewPattern(`(?i)^(?:` + strings.Join([]string{
		`(?:this message was|you) deleted(?: this message)?`, `this message was deleted by admin.{0,80}`,
		`diese nachricht wurde (?:gelöscht|von admin .{0,80} gelöscht)`, `du hast diese nachricht gelöscht`,
		`(?:se eliminó|eliminaste) este mensaje`, `este mensaje fue eliminado`,
		`mensagem apagada`, `(?:esta )?mensagem foi apagada`, `essa mensagem foi apagada`, `você apagou (?:esta|essa) mensagem`, `apagou esta mensagem`,
		`ce message a été supprimé`, `vous avez supprimé ce message`, `questo messaggio è stato eliminato`, `hai eliminato questo messaggio`,
		`dit bericht is verwijderd`, `je hebt dit bericht verwijderd`, `(?:это|данное) сообщение (?:было )?удалено`, `вы удалили (?:это|данное) сообщение`,
		`bu mesaj silindi`, `bu mesajı sildiniz`, `pesan ini telah dihapus`, `anda (?:telah )?menghapus pesan ini`, `ta wiadomość została usunięta`,
		`(?:这条|此)消息已(?:被)?(?:删除|撤回)`, `[您你](?:已)?(?:删除|撤回)了?(?:这条|此)消息`, `(?:此|這則)訊息已(?:被)?(?:刪除|收回)`, `[您你](?:已)?(?:刪除|收回)了?(?:這則|此)訊息`,
		`(?:このメッセージは|メッセージが)削除されました`, `(?:あなたが|この|あなたがこの)?メッセージを削除しました`, `삭제된 메시지입니다`, `(?:이 )?메시지를 삭제했습니다`, `تم حذف هذه الرسالة`, `(?:لقد )?حذفت هذه الرسالة`,
		`mensaje eliminado`, `[您你]?已?收回(?:了)?(?:此|這則)訊息`, `(?:यह|इस) (?:संदेश|मैसेज)(?: को)? (?:हटाया|मिटा दिया|डिलीट किया) गया(?: था)?`, `आपने (?:यह|इस) (?:संदेश|मैसेज)(?: को)? (?:हटाया|मिटा दिया|डिलीट किया)`,
	}, "|") + `)[.。]?$`)

	// waNothing are texts in place of words that are not in the export: of calls, of what is
	// seen once, of what has not arrived.
	waNothing = text.NewPattern(`(?i)^(?:null|waiting for this message(?:\. this may take a while)?|you (?:received|sent) a view once (?:message|photo|video|voice message)\b.{0,120}|live location shared|` +
		`missed (?:voice|video|group voice|group video) call(?:[.,•] ?.{0,40})?|正在等待此消息.{0,30}|未接(?:语音|视频)通话.{0,20}|未接(?:語音|視訊)通話.{0,20})[.。]?$`)

	waEdited = text.NewPattern(`(?i)\s*<[^<>]{0,40}(?:edited|bearbeitet|editado|editada|editó|बदलाव|संपादित|एडिट|modifié|modificato|bewerkt|изменен|изменён|отредакт|düzenlen|diedit|edytowa|编辑|編輯|編集|수정|تعديل)[^<>]{0,20}>$`)

	waOmittedEnd = `(?:omitted|not included|weggelassen|ausgelassen|ausgeschlossen|omitid[oa]s?|omess[oaie]|absente?|omis(?:es?|e?s)?|ocult(?:ad)?[oa]s?|отсутству\S*|exclu[es]?s?|weggelaten|опущен\S*|пропущен\S*|dahil edilmedi|tidak disertakan|pominięt\S*|utelämna\S*|udelad\S*)`
	waOmittedIn  = `(?:忽略|省略|略去|略過|省略されました|省略されています|含まれていません|생략(?:됨|했습니다)?|제외함)`

	// waOmitted is what stands for a picture and the like, by itself.
	waOmitted = text.NewPattern(`(?i)^(?:(?:image|photo|picture|video|audio|sticker|gif|document|contact card|video note|voice message|media|bild|foto|dokument|kontaktkarte|videonachricht|medien|imagen|vídeo|documento|tarjeta de contacto|imagem|áudio|figurinha|cartão de contato|vidéo|autocollant|fiche contact|immagine|scheda contatto|adesivo|afbeelding|contactkaart|изображение|видео|аудио|аудиофайл|видеофайл|стикер|документ|görüntü|ses|çıkartma|belge|gambar|stiker|dokumen) ` + waOmittedEnd +
		`|(?:图像|图片|照片|相片|视频|音频|语音|贴图|文档|文件|媒体|媒体文件|影音内容|联系人名片|名片|GIF ?动态图|GIF ?動態圖|GIF|圖片|影片|視訊|音訊|語音|貼圖|文件檔|多媒體檔案|聯絡人卡片|画像|動画|音声|スタンプ|ドキュメント|メディア|사진|이미지|동영상|오디오|음성|스티커|문서|미디어) ?(?:は|が|已被|已|被)?` + waOmittedIn + `)[.。]?$`)

	// waMarked is the same behind a mark of direction, where no person writes.
	waMarked = text.NewPattern(`(?i)^(?:\S+ ){1,3}` + waOmittedEnd + `$|^\S{0,12}(?:\s\S{0,8})?` + waOmittedIn + `$`)

	waPages    = text.NewPattern(`^[^\n]*\.[A-Za-z0-9]{1,5} •[^\n]*$|^\S+\.[A-Za-z0-9]{1,5}$`)
	waAttached = text.NewPattern(`(?i)<[^<>:：\n]{2,30}[:：] ?[^<>\n]+\.[a-z0-9]{1,5} ?>`)
	waFile     = text.NewPattern(`(?i)^(?:(?:IMG|VID|AUD|PTT|STK|DOC)-\d{8}-WA\d+\.[a-z0-9]{1,5}(?: \([^()\n]{2,40}\))?|\S[^\n]*\.[a-z0-9]{1,5} \([^()\n]{0,30}(?:attach|angehängt|adjunt|joint|anexad|allegat|bijgevoegd|добавлен|прикреп|附件|附加|添付|첨부|ekli|eklen|załącz|bifog|vedhæft|liite|terlampir|dilampirkan|مرفق)[^()\n]{0,20}\))$`)

	waPollHead = text.NewPattern(`^(?:POLL|UMFRAGE|ENCUESTA|ENQUETE|SONDAGE|SONDAGGIO|PEILING|ОПРОС|ANKET|POLLING|ANKIETA|投票|アンケート|투표) ?[:：]$`)
	waOption   = text.NewPattern(`^[\p{L}]{2,12} ?[:：] ?(.*?) ?[(（][^()（）]*\d[^()（）]*[)）]$`)
	waPlaceAt  = text.NewPattern(`https?://(?:maps\.google\.com|www\.google\.com/maps|foursquare\.com|4sq\.com)/`)
)

// waSaid is what a person's message says, and whether it is the app's word instead.
// marked tells that such words, and only they, begin with a mark of direction.
func waSaid(said string, marked bool) (text string, event bool) {
	led := marked && strings.HasPrefix(strings.TrimLeft(said, " "), "\u200e")
	if cut := strings.LastIndex(said, "\u200e"); cut > 0 &&
		waMarked.MatchString(strings.TrimSpace(waPlainText(said[cut:]))) {
		said = said[:cut] // a caption, or a document's name
		if name := waPlainText(said); waPages.MatchString(name) {
			return "", false
		}
		led = led && cut == 0
	}
	text = waPlainText(said)
	switch {
	case len(text) > waLongestPhrase:
	case waDeleted.MatchString(text):
		return "", true
	case waNothing.MatchString(text), led && waMarked.MatchString(text):
		return "", false
	}
	if strings.HasSuffix(text, ">") {
		text = strings.TrimSpace(waEdited.ReplaceAllString(text, ""))
	}
	first, more, _ := strings.Cut(text, "\n")
	first = strings.TrimRight(first, " \r")
	switch {
	case len(first) <= waLongestPhrase &&
		waOmitted.MatchString(first), waBracketed(first), strings.Contains(first, ".") && waFile.MatchString(first):
		return strings.TrimSpace(more), false
	case strings.Contains(text, "<") && waAttached.MatchString(text):
		caption := strings.TrimSpace(waAttached.ReplaceAllString(text, ""))
		if waPages.MatchString(caption) {
			caption = ""
		}
		return caption, false
	case waPollHead.MatchString(first):
		return waPoll(more), false
	}
	return text, led && text != "" && !waPlaceAt.MatchString(text)
}

// waBracketed tells whether a line is nothing but words in angle brackets, as the app
// writes in place of what it left out, in whatever language.
func waBracketed(s string) bool {
	inside, ok := strings.CutPrefix(s, "<")
	inside, end := strings.CutSuffix(inside, ">")
	if n := utf8.RuneCountInString(inside); !ok || !end || n < 4 || n > 60 || strings.ContainsAny(inside, `<>=/"':`) {
		return false
	}
	return strings.Contains(inside, " ") || len(inside) > utf8.RuneCountInString(inside)
}

// waPoll is the question and the answers of a poll, without how many chose them.
func waPoll(lines string) string {
	question, answers := "", []string(nil)
	for l := range strings.Lines(lines) {
		l = strings.TrimSpace(l)
		if m := waOption.FindStringSubmatch(l); m != nil && question != "" {
			answers = append(answers, m[1])
		} else {
			question = export.JoinLines(question, l)
		}
	}
	return export.PollText(question, answers)
}

// waInvisible are the marks that a text loses; of right-to-left text some stay.
var waInvisible = strings.NewReplacer("\ufeff", "", "\u200e", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u202d",
	"", "\u202e", "",
	"\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "")

// waPlainText is a text without marks of direction.
func waPlainText(s string) string { return strings.TrimSpace(waInvisible.Replace(s)) }
