package safety

// otherLanguages are the best known orders in languages that the other rules do not
// speak, and orders that are written in code.
func otherLanguages() []pattern {
	return []pattern{
		newPattern(`\b(?:ignor(?:ez|er|e|a|ad|en|iere?n?|iert|o)|oublie[rz]?|olvida|vergiss|vergesst|desconsider[ae]|dimentica|missachte|esque[cç]a|negeer)\b.*\b(?:instructions?|instrucciones|indicaciones|anweisungen|befehle|regeln|consignes|instru[cç][oõ]es|istruzioni|regole|r[eè]gles|reglas|regras|instructies)\b`,
			"ignor", "oubli", "olvida", "verg", "desconsider", "dimentica", "missachte", "esque", "negeer").and("instru", "indicaciones", "anweisungen", "befehle", "regeln", "consignes", "istruzioni", "regol", "règles", "regles", "reglas", "regras"),
		newPattern(`(?:игнорируй|игнорировать|забудь|не обращай внимания)(?:те)?.*(?:инструкц|указани|правил)`, "игнор", "забудь", "не обращай"),
		newPattern(`(?:指示|命令|ルール|プロンプト|指令).*(?:無視|无视|忘れ|従わない)|システムプロンプト`, "指示", "命令", "ルール", "プロンプト", "指令"),
		newPattern(`(?:지시|명령|지침|규칙|프롬프트).*(?:무시|잊|따르지)|시스템 프롬프트`, "지시", "명령", "지침", "규칙", "프롬프트"),
		newPattern(`تجاهل.*(?:التعليمات|الأوامر|القواعد)`, "تجاهل"),
		newPattern(`(?:bỏ qua|quên).*(?:hướng dẫn|chỉ dẫn|chỉ thị|lệnh)`, "bỏ qua", "quên"),
		newPattern(`(?:talimat|komut|kural)\S*.*(?:yok say|unut|görmezden gel)`, "talimat", "komut", "kural"),
		newPattern(`(?:अनदेखा|नज़रअंदाज़|भूल).*(?:निर्देश)|निर्देश.*(?:अनदेखा|नज़रअंदाज़|भूल)`, "निर्देश"),
		newPattern(`(?:mengabaikan|abaikan).*(?:instruksi|perintah)`, "abaikan"),
		newPattern(`\b(?:decode|decrypt|decipher|unscramble|reverse)\b.*\b(?:base64|base 64|rot13|hex|morse|binary|cipher)\b.*\b(?:follow|obey|execute|do|run|apply)\b|\b(?:base64|rot13|hex|morse|binary) (?:text|string|message|code)\b.*\b(?:explains what|tells you|instructs|what to do|follow|execute)\b|\b(?:decode|decrypt|decipher) (?:this|the following|it|and)\b.*\b(?:follow|obey|execute|instructions?|do what)\b`,
			"base64", "base 64", "rot13", "hex", "morse", "binary", "cipher", "decode", "decrypt", "decipher"),
	}
}
