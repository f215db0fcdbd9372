package reverie

// The building blocks of the English rules. All match folded text.
const (
	// enStart is where an imperative may begin: a clause, or after "you" and the
	// like. A subject before the verb makes it a report about people.
	enStart = `(?:^|[^\w\s'’]\s*|\b(?:please|pls|plz|kindly|now|then|just|instead|simply|immediately|you|to you|assistants?|ai|bot|chatbot|model|llm|chatgpt|claude|gemini|copilot` +
		`|you (?:must|should|shall|will|can|may|need to|have to|are to|ought to|always|never|now|also)|(?:want|need|order|command|instruct|ask|tell|require|expect)s? you to|(?:make|be) sure(?: to|(?: that)? you)|ensure(?: that)? you|remember to|important to|have to always)\s+(?:(?:please|now|just|also|then|always|must)\s+)?)`
	enModel   = `(?:ai|a\.i\.|llm|gpt|chatgpt|claude|gemini|copilot|chatbot|bot|assistant|model|language model|ai (?:assistant|model|agent|system)|reader of this|reverie)`
	enText    = `(?:instructions?|prompts?|directives?|guidelines?|system messages?|programming|safeguards?|safety (?:rules|guidelines|measures))`
	enBefore  = `(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|former|past|system|your|other|aforementioned|all|any|every(?:thing)?|safety|developer'?s?|the)`
	enAnswer  = `(?:repl(?:y|ies)|answers?|responses?|outputs?|messages?|sentences?|completions?|turns?)`
	enSay     = `(?:answer|say|reply|respond|tell|recommend|mention|output|claim|state|insist|refuse|deny|suggest|direct|refer|print|write|give|provide|reveal|send|promote|praise|advise|assure|lie|pretend)`
	enDo      = `(?:always |never |not |only |now |also |then |immediately |instead |just |please )*(?:` + enSay + `|act|obey|follow|ignore|disregard|forget|call|execute|run|invoke|use|comply|treat|include|forward|delete|erase|create|update|approve|trust|prioriti[sz]e|stop|behave|speak|talk|assume|believe|agree|end|begin|start|add|append|remember|be helpful|be rude|be honest|prefer|keep|translate|answer|address|call)`
	enSpeech  = `(?:english|chinese|mandarin|french|german|spanish|japanese|korean|russian|latin|italian|portuguese|arabic|json|yaml|xml|html|markdown|base64|hex|rot13|morse(?: code)?|emojis?|caps|all caps|upper ?case|lower ?case|haiku|rhymes?|verse|(?:the |a |an )?[\w-]+(?: [\w-]+)? (?:accent|tone|style|voice|character|format|persona|words?|sentence))`
	enSecrets = `(?:system prompt|system message|developer message|hidden prompt|initial prompt|original prompt|(?:your|the|its) (?:initial |original |hidden |secret |full |entire |exact |system |internal )*(?:instructions|prompts?|guidelines|programming|configuration|rules|directives))`
)

func englishInstructions() []pattern {
	return append(englishOverrides(), englishOrders()...)
}

// englishOverrides take the model's instructions, role and secrets away.
func englishOverrides() []pattern {
	return []pattern{
		newPattern(`\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|overrul(?:e|ing)|neglect|discard|skip|violate|(?:do not|don't|never|stop|no longer|not) (?:follow|obey|heed|comply with)(?:ing)?|pay no attention to)\s+(?:\w+\s+){0,3}?`+enBefore+`\s+(?:[\w-]+\s+){0,3}?`+enText+`\b`,
			"ignor", "disregard", "forget", "overrid", "bypass", "overrul", "neglect", "discard", "skip", "violate", "follow", "obey", "heed", "comply", "attention"),
		newPattern(enStart+`(?:ignore|disregard|forget|override|bypass|discard)\s+(?:\w+\s+){0,2}?(?:(?:everything|anything|all|whatever)\b(?: (?:of|that|you|the|i|was|is|were|has been|\w+ (?:said|told|written)))* ?(?:above|before|previous|prior|earlier|said|told|know|learned|were)|(?:previous|prior|above|earlier|preceding|foregoing|all|your|system)\s+(?:\w+\s+){0,2}?(?:rules?|messages?|context|text|conversations?|commands?|orders?|constraints?|restrictions?|training|policy|policies|filters?|limits|limitations?|memor(?:y|ies)|statements?|persona))\b`,
			"ignore", "disregard", "forget", "override", "bypass", "discard"),
		newPattern(enStart+`(?:ignore|disregard|forget|discard|set aside|put aside|leave aside)\s+(?:everything |anything |all |whatever |most of |of )*(?:what |that |whatever )?(?:you (?:were|have been|had been|are|know|learned|remember)|(?:the |your |any )?\w+ (?:has |have )?(?:told|taught|ordered|instructed) you)\b|`+enStart+`(?:ignore|disregard|forget) (?:all |everything )?(?:of )?(?:your (?:rules|training|role|instructions|limits)|(?:the )?(?:above|foregoing))\b`,
			"ignore", "disregard", "forget", "discard", "aside"),
		newPattern(`\b(?:whoever|anyone who|anybody who|everyone who|those who|any(?: ai| bot| model| assistant)? that|if you(?:'re| are)?|when(?:ever)? you(?:'re| are)?|once you|as soon as you|after|before|upon|while) ?(?:reads?|reading|sees?|seeing|receives?|receiving|process(?:es|ing)?|retrieves?|retrieving|loads?) (?:this|these)(?: (?:memory|memories|message|note|statement|text|line|sentence|instruction)s?)?(?:\s*[,:;.!]| (?:must|should|shall|has|have|will|needs?|please|you|then|say)\b|$)`,
			"read", "see", "receiv", "process", "retriev", "load").and("this", "these"),
		newPattern(enStart+`stop (?:being|acting|behaving|pretending|responding|answering|following|obeying)\b[^.!?。]{0,24}?\b(?:assistant|ai|bot|chatbot|model|helpful|instructions?|rules|guidelines|operator|admin)\b`, "stop "),
		newPattern(`\bfrom (?:now|here|this (?:point|moment|day|message)|today) ?(?:on|onwards?|forward|forth)?[, ]+(?:please |then |on )?(?:you\b|your\b|always|never|only (?:reply|respond|answer|speak)|reply|respond|answer|speak|act |pretend|call (?:me|yourself)|`+enModel+` (?:must|should|will|shall))`,
			"from now", "from here", "from this", "from today"),
		newPattern(`\byou(?:'re| are|r) (?:now\b|no longer|hereby|henceforth|(?:going|about) to (?:act|be|play|pretend)|(?:an? |my |the |our )?(?:\w+ ){0,3}?`+enModel+`\b|dan\b|jailbroken|unrestricted|free (?:of|from)|(?:required|instructed|supposed|ordered|obliged|programmed|expected|allowed|permitted|forbidden|not allowed) to|not (?:an? )?`+enModel+`)`,
			"you are", "you're", "your "),
		newPattern(`\b(?:reveal|show|print|repeat|output|leak|display|tell|dump|expose|disclose|share|give|recite|return|translate|summari[sz]e|what (?:is|are|were)|change|modify|update|replace|rewrite|edit|edit)\b(?: (?:me|us|them|everyone|back|out|verbatim|to|of))* (?:\w+ ){0,2}?`+enSecrets,
			"prompt", "message", "instructions", "guidelines", "programming", "configuration", "rules", "directives"),
		newPattern(`\b(?:new|updated|revised|real|actual|true|secret|hidden|urgent|important|additional|special|current|following|critical|final|admin|root|override)\b(?: \w+)? (?:instructions?|directives?|system prompt|prompt|system message|override)\s*(?::|is\b|are\b|follow)|\b(?:your|this) system prompt\b|\bsystem prompt\s*[:=]|\bsystem (?:override|instruction|directive|notice|command)s?\s*[:!]`,
			"instruction", "directive", "prompt", "system", "override"),
		newPattern(`\b(?:your|thy) (?:new |real |true |only |main |primary |first |next |sole |current |actual )*(?:name|role|task|job|goal|purpose|persona|identity|instructions?|objective|mission|owner|master|creator|(?:system )?prompt|`+enAnswer+`|training|guidelines|priority|duty|programming)(?: (?:is|are|must|should|shall|will|has|have|from|now|to)\b|\s*:)`,
			"your ", "thy "),
		newPattern(`\byou (?:can|may|will|could) (?:now )?do anything now\b|\bdo anything now["”]|\bdan mode\b|\bjailbreak(?:ing)? (?:mode|prompt|the (?:model|ai|assistant))|`+enStart+`(?:enter|enable|activate|switch (?:to|into)|go into|turn on|engage) (?:\w+ ){0,2}?(?:developer|dan|god|debug|admin|sudo|root|unrestricted|jailbreak|maintenance|evil|uncensored) mode|\byou (?:have|got) no (?:restrictions|filters|rules|limits|limitations|guidelines)`,
			"do anything now", "mode", "jailbreak", "you have no", "you got no"),
		newPattern(enStart+`(?:pretend|imagine|role-?play|act|behave|respond|reply|answer|speak|talk|write|operate|function)\s+(?:to be|(?:that )?you(?:'re| are| have)|as (?:if (?:you|there)|though you|an?\b|the\b|my\b|dan\b|root|admin)|like (?:an?|the)\b)`,
			"pretend", "imagine", "role", "act ", "behave", "respond", "reply", "answer", "speak", "talk", "write", "operate", "function"),
		newPattern(`\bas an? (?:\w+ ){0,2}?(?:ai|a\.i\.|llm|language model|chatbot|ai (?:assistant|model|agent|system)|assistant|bot)(?: \w+)?,? (?:you\b|always|never|please|your|`+enSay+`\b|ignore|follow|do not|don't)`,
			"as a"),
		newPattern(`\b(?:this|the following|these) (?:\w+ )?(?:memory|memories|statement|instruction|note|rule|message|text)s? (?:\w+ )?(?:overrid(?:es?|ing)|supersedes?|replaces?|takes? (?:precedence|priority)|outranks?|ha(?:s|ve) (?:the )?(?:highest|top|absolute) priority|cannot be (?:changed|deleted|removed|overridden)|must (?:never |not )?be (?:obeyed|followed|kept|deleted|changed|executed))`,
			"overrid", "supersede", "replace", "precedence", "priority", "outrank", "cannot be", "must "),
		newPattern(`\b(?:end|begin|start)(?:ning)? of (?:the )?(?:system (?:prompt|message)|prompt|instructions|untrusted (?:data|input)|user (?:input|data)|memor(?:y|ies) (?:list|data|block|section))\b`,
			"end of", "begin of", "start of", "beginning of"),
	}
}

// englishOrders tell the model what to say and do.
func englishOrders() []pattern {
	return []pattern{
		newPattern(`\b(?:when(?:ever)?|if|once|every time|each time|any ?time|next time|should|in case)\b (?:ever )?(?:you(?:'re| are| get)? |(?:the |a |any )?users? |people |any(?:one|body) |some(?:one|body) |they |members? |he |she |i |we )?(?:is |are |gets? |be |should |ever |do |does )*(?:ask(?:s|ed|ing)?|quer(?:y|ied|ies)|prompted|questioned|inquires?|mentions?|mentioned|says?|requests?|wants? to know|greets?)\b[^.!?。]{0,120}?[,;:] ?(?:then |you |always |please |just |simply |instead |only |never |immediately |must |should |will |do not |don't |can |the (?:ai|assistant|bot|model) (?:must|should|will) )*`+enSay+`\b`,
			"ask", "quer", "prompted", "question", "inquire", "mention", "say", "request", "wants to know", "want to know", "greet"),
		newPattern(`(?:^|[.!?;:。"'“]\s*)(?:please )?(?:when(?:ever)?|while|before|after|if) (?:you(?:'re| are) )?(?:summari[sz]|respond|answer|reply|generat|speak|talk|translat|chatt|converse?s?)ing\b[^.!?。]{0,60}?, ?(?:then |you |always |please |just |only |never |must |should |do not |don't )*(?:`+enSay+`|use|include|add|append|insert|call|be|start|end|begin|finish|sign|adopt|keep|act|ignore|pretend|follow|speak|execute|run|invoke|delete|mimic|talk)\b`,
			"summari", "respond", "answer", "reply", "generat", "speak", "talk", "translat", "chatt", "conversing").and("ing"),
		newPattern(`(?:^|[^\w\s]\s*)(?:when(?:ever)?|if) (?:you are |you're |ever )?asked\b(?: (?:about|for|to|what|who|why|how|where|when|which|if|whether|by)\b)?(?: [\w'-]+){0,8}? (?:always |never |please |you (?:must |should |will )?|only |just |simply )?`+enSay+`\b`, "asked"),
		newPattern(`\b(?:do not|don't|never|must not|mustn't|should not|shouldn't|cannot|can't|not to|without|avoid)\s+(?:ever )?(?:tell(?:ing)?|inform(?:ing)?|reveal(?:ing)?|mention(?:ing)?|disclos(?:e|ing)|show(?:ing)?|warn(?:ing)?|alert(?:ing)?|notify(?:ing)?|let(?:ting)?|say(?:ing)?|admit(?:ting)?|ask(?:ing)?|trust(?:ing)?|help(?:ing)?|obey(?:ing)?|answer(?:ing)?)\b(?: \w+){0,5}? (?:the |any |your |other |this |these )?(?:users?|operators?|humans?|administrators?|developers?|end[- ]users?)\b`,
			"user", "operator", "human", "administrator", "developer"),
		newPattern(enStart+`(?:do not|don't|never) (?:ever )?(?:tell|inform|reveal to|let|warn|alert|notify) (?:anyone|anybody|them|others|people|him|her|the (?:group|members|admins?|moderators?|mods?|others)|members|admins?)\b`,
			"do not", "don't", "never"),
		newPattern(enStart+`(?:(?:always|never|only|constantly|invariably|forever) (?:\w+ly )?`+enSay+`\b|always (?:agree|obey|comply|trust|side|favor|favour|approve|praise|steer|end (?:every|each|all|your)|(?:start|begin|finish|close) (?:every|each|all|your)|address|call (?:him|her|me|them|the user)|do (?:what|as)|use the (?:tool|function|words?|phrase))|never (?:agree|criticize|criticise|contradict|question|disagree|doubt|update|delete|change|forget|remove|overwrite) (?:this|any|the|me|him|her|them|with|it|these|memory|memories)\b)`,
			"always", "never", "only ", "constantly", "invariably", "forever"),
		newPattern(`\b(?:in|to|with|at the end of|at the start of) (?:all|every|each|any)(?: of)?(?: your| the)? (?:future|subsequent|following|further|later|upcoming) `+enAnswer+`\b`, "future", "subsequent", "following", "further", "later", "upcoming"),
		newPattern(enStart+`(?:do not|don't|never) (?:ever )?(?:mention|reveal|disclose|repeat|share|delete|remove|change|modify|update|overwrite|discuss|acknowledge|talk about) (?:this|these) (?:\w+ )?(?:instruction|memor(?:y|ie)|note|message|statement|rule|directive|command|prompt)s?\b`, "do not", "don't", "never"),
		newPattern(`\b(?:must|should|shall|ha(?:s|ve) to|needs? to|(?:is|are) to|will) (?:always |never |only |not )*be \w+(?: \w+){0,2} by (?:the |any |every |an? |this )?(?:ai|assistant|model|llm|chatbot|language model|chatgpt|claude|gemini)s?\b`, " by "),
		newPattern(`\b(?:ai|assistant|llm|chatbot|language model|chatgpt|claude|gemini)s? (?:reading this |here )?(?:is|are) (?:now |hereby )?(?:required|instructed|ordered|commanded|obliged|forbidden) to\b`, "required", "instructed", "ordered", "commanded", "obliged", "forbidden"),
		newPattern(`(?:\b(?:make|be) sure|\bensure|\bit(?:'s| is) (?:very |extremely |absolutely )?(?:important|vital|critical|essential|required|necessary|mandatory|imperative))(?: that)? you (?:(?:always|never|do not|don't|only|now) )*`+enDo+`\b`, "sure", "it is", "it's"),
		newPattern(enStart+`(?:reply|respond|answer|speak|write|talk|behave|act)\b[^.!?。]{0,40}?\bfrom now on\b`, "from now on"),
		newPattern(enStart+`(?:reply|respond|answer)\s+(?:to )?(?:everything|everyone|(?:every|all|any|each)(?: of)? ?(?:the |their |his |her )?(?:user |future )?(?:questions?|messages?|users?|prompts?|requests?|quer(?:y|ies))) (?:with|by|in|as|using)\b`, "reply", "respond", "answer"),
		newPattern(`\byou (?:must|have to|need to|are required to|shall|should|will|ought to|can only|may only|may not|cannot|can't|can not|must not|mustn't|should not|shouldn't|will not|won't|are to|may now|can now|better|always|never) `+enDo+`\b|\byou (?:must|shall|should) (?:always|never|not)\b`, "you "),
		newPattern(`\b(?:the |this |our |any |every |all |dear |hey |hi |hello |attention )?`+enModel+`s? (?:reading this|who reads this|that reads this)?,? ?(?:must|should|shall|needs? to|ha(?:s|ve) to|is to|are to|ought to|will|is (?:required|supposed|instructed|expected|obliged|not allowed|forbidden|commanded) to|are (?:required|supposed|instructed|expected|not allowed|forbidden) to|may (?:not|only)|cannot|can only) `+enDo+`\b`,
			"ai", "a.i.", "llm", "gpt", "claude", "gemini", "copilot", "bot", "assistant", "model", "reader", "reverie"),
		newPattern(`(?:^|[.!?。]\s*)["'“(\[]*(?:(?:attention|dear|hey|hi|hello|ok|okay|hello,|hey,|hi,|note (?:to|for)(?: the)?|message (?:to|for)(?: the)?|instructions? (?:to|for)(?: the)?|reminder (?:to|for)(?: the)?|to (?:the|any|all|whichever|whatever)) ?(?:ai\b|a\.i\.|llms?\b|gpt|chatgpt|claude|gemini|copilot|chatbot|assistant|model\b|language model|ai (?:assistant|model|agent)|agent reading|future (?:ai|assistant|model)s?)|(?:ai|assistant|chatgpt|claude|gemini|copilot|chatbot|llm)\s*[,:!] ?(?:\w+))`,
			"ai", "a.i.", "llm", "gpt", "claude", "gemini", "copilot", "chatbot", "assistant", "model", "agent"),
		newPattern(enStart+`(?:call|invoke|execute|trigger|launch|use|run)\s+(?:the |this |your |that |a |an |these |following |any )*(?:[\w.()-]+ ){0,3}?(?:tools?|functions?|plugins?)\b(?: (?:to|with|and|now|on|for|immediately)\b|[\s.!"')]*$)|`+enStart+`(?:execute|invoke)\s+(?:the |this |these |following |that |my )*(?:[\w.-]+ )?(?:commands?|code|scripts?|quer(?:y|ies)|shell|payload|statements?|instructions?|actions?|sql)\b|`+enStart+`run (?:the |this |these )?(?:following|next|attached|below|shell|system|bash) (?:\w+ )?(?:commands?|code|scripts?|quer(?:y|ies)|shell)\b|\brm -rf\b|\bdrop table\b|\|\s*(?:ba|z)?sh\b`,
			"call", "invoke", "execute", "trigger", "launch", "use ", "run ", "rm -rf", "drop table", "sh"),
		newPattern(enStart+`(?:reply|respond|answer|speak|write|output|talk|communicate)\s+(?:(?:only|always|exclusively|solely|just|everything|to (?:everything|every \w+|all \w+|any \w+|the user|users|me|them|this)|every \w+|all \w+|each \w+|any \w+|questions?|with only|back)\s+)*(?:(?:in|with|using|as) (?:only )?`+enSpeech+`\b|with (?:["'“‘]|exactly\b|nothing but|only\b|just\b|the (?:word|phrase|text|following|string|sentence)|a (?:joke|lie|link|poem))|(?:only )?["“'‘])`,
			"reply", "respond", "answer", "speak", "write", "output", "talk", "communicate"),
		newPattern(enStart+`(?:reply|respond|answer|output|speak)\s+(?:only|exclusively|solely) (?:with|to|in|as|yes|no)\b`, "reply", "respond", "answer", "output", "speak"),
		newPattern(enStart+`(?:output|print|say|repeat|write|type|echo)\s+(?:exactly|verbatim|the following|after me|the (?:above|words?|phrase|text|string|contents? of)|everything (?:above|before)|only (?:the|"|'|“))`,
			"output", "print", "say", "repeat", "write", "type", "echo"),
		newPattern(enStart+`(?:delete|erase|remove|forget|wipe|clear|deprecate|overwrite|purge|drop|reset|destroy|rewrite|modify|replace)\s+(?:all|every|any|each|the|your|existing|other|these|those|old|stored|previous)\b(?: [\w'-]+){0,3}? (?:memor(?:y|ies)|memory store|memory bank|knowledge base|chat history|context window)\b`,
			"memor", "knowledge", "history", "context"),
		newPattern(enStart+`(?:tell|inform|convince|persuade|assure|remind|trick|warn|show|give|send|ask|instruct|direct|refer|encourage|urge|advise|get|redirect|steer) (?:the |all |every |any |each |your |other )?(?:users?|end[- ]users?|customers?|whoever asks|anyone who asks|everyone who asks|people who ask|the person asking)\b`,
			"user", "customer", "whoever", "anyone who", "everyone who", "people who", "person asking"),
		newPattern(enStart+`(?:recommend|promote|advertise|praise|endorse|mention|plug|push|suggest|include|insert|add|append|put|place|attach)\s+(?:[^.!?。]{0,60}?)\b(?:(?:to|at|in|into|for|with|after|before) (?:the (?:end|start|beginning|top|bottom) of )?(?:every|each|all|any|your|all your|all of your) (?:future |subsequent |single )*(?:users?|customers?|`+enAnswer+`|conversations?|chats?|people|person|question))`,
			"recommend", "promote", "advertise", "praise", "endorse", "mention", "plug", "push", "suggest", "include", "insert", "add", "append", "put", "place", "attach"),
		newPattern(`\b(?:in|at the end of|at the start of|at the beginning of|to|with|of|end|begin|start|finish|close|sign) (?:all of |each of )?your (?:future |next |every |subsequent |single |final )*`+enAnswer+`\b`, "your "),
		newPattern(enStart+`(?:end|begin|start|finish|close|sign|preface|prefix)\s+(?:every|each|all|any|the)\s+(?:(?:of )?(?:your|future|subsequent|single)\s+)*`+enAnswer+`\s+(?:with|by|in|off)\b`,
			"end", "begin", "start", "finish", "close", "sign", "pref"),
		newPattern(enStart+`(?:obey|comply with|carry out|(?:only |always |blindly |strictly )?(?:follow|trust|accept|believe)(?: (?:only|all|any|every))?)\s+(?:(?:the |these |this |those |my |all |any |his |her |every |following |[\w-]+'s )*(?:instructions?|orders?|commands?|directives?|prompt)|(?:everything|whatever|anything) [\w-]+ (?:says?|asks?|tells?|writes?|orders?))`,
			"obey", "comply", "carry out", "follow", "trust", "accept", "believe"),
		newPattern(enStart+`(?:do|believe|accept|obey) (?:whatever|anything|everything|exactly (?:what|as)) [\w-]+ (?:says?|asks?|tells?|writes?|orders?|wants?)`, "whatever", "anything", "everything", "exactly"),
		newPattern(enStart+`(?:treat|regard|consider|recogni[sz]e|accept|grant|give|make|promote)\s+(?:[\w@.'-]+ ){1,4}?(?:(?:as )?(?:an? |the |your |a trusted )?(?:system |group |trusted |new |super ?|root )?(?:admin(?:istrator)?|owner|developer|system|root|superuser|operator|master|trusted|instructions?|commands?)\b|(?:admin(?:istrator)?|root|owner|full|unlimited|superuser|elevated) (?:access|rights|privileges?|permissions?|status))`,
			"admin", "owner", "developer", "system", "root", "superuser", "operator", "master", "trusted", "instruction", "command", "full ", "unlimited", "elevated"),
		newPattern(`\b(?:is|are|am|as) your (?:new |real |true |only |rightful )?(?:owner|master|admin(?:istrator)?|creator|boss|developer|god|operator|maker)\b`, "your "),
		newPattern(enStart+`(?:remember|note|know|understand|keep in mind|acknowledge|save|store|memorize|record)\s*(?:that |this |:|,|well )*\s*(?:you (?:are|must|should|will|have|can|always|never)\b|your \w+|(?:as|in) (?:a |an |your )?(?:permanent |long-term |new )?(?:memor(?:y|ies)|instructions?)\b)`,
			"remember", "note", "know", "understand", "keep in mind", "acknowledge", "save", "store", "memorize", "record"),
		newPattern(`\b(?:create|add|store|save|write|insert|update|keep) (?:this |the following |a |an |new |it )*(?:\w+ )?(?:as |into |in |to )?(?:a |an |your |the )?(?:permanent |long-term |persistent |core |new )*memor(?:y|ies) (?:that|saying|stating|which says|with the text|as)\b`, "memor"),
	}
}
