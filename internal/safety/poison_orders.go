package safety

// More building blocks of the rules by kind. All match folded text.
const (
	enTalk   = `(?:conversations?|chats?|messages?|transcripts?|dialogues?|(?:chat|session|message) (?:history|logs?|contents)|inbox|contacts?|address book|memor(?:y|ies)|environment(?:al)? variables|env vars|credentials|api keys?|access tokens?|passwords|secrets|ssh (?:keys?|config)|member list)`
	enOut    = `(?:repl(?:y|ies)|answers?|responses?|outputs?|summar(?:y|ies)|(?:search )?quer(?:y|ies)|searches|urls?|links?|pixel|parameters?|arguments?|tool calls?|endpoints?|collector|webhooks?|beacon|query string|external \w+|remote \w+|outside \w+|third part(?:y|ies))`
	enMoved  = `(?:forwarded|sent|copied|relayed|mirrored|submitted|uploaded|posted|exported|piped|streamed|reported|synced|routed|delivered)`
	enPut    = `(?:append|add|attach|include|insert|embed|put|paste|pass|place|mix|smuggle|slip|encode|translate|convert|turn|return|render|store|save|mirror|duplicate|copy|forward|send|relay|post|upload|submit|pipe|stream|sync|output|quote|hide|fold|report|deliver|route)`
	enMemo   = `(?:this|these|the present|the above) (?:memory|memories|entry|statement|record|rule|instruction|fact|preference|note)\b`
	enSecret = `(?:silently|secretly|quietly|covertly|stealthily|invisibly|discreetly)`

	zhEach = `(?:所有|全部|一切|任何|每次|每一?[条个份轮]|今后|以后|从现在起?|从此|一律|最近[^。!?;,]{0,4}?条|最后[^。!?;,]{0,4}?条|整[个段])`
	zhTalk = `(?:(?:对话|聊天|会话|消息)(?:的)?(?:内容|记录|历史|摘要)|[条轮](?:消息|对话|聊天)|所有(?:消息|对话|聊天|邮件)|环境变量|通讯录|联系人名单|收件箱|密钥|凭证|密码|令牌|成员名单|(?:所有|全部|已存|存储的)记忆|api\s?key)`
	zhSink = `(?:收集|外部|境外|第三方|接口|服务器|地址|webhook|邮箱|号码|网盘|回传|监听|备用群)`
	zhOut  = `(?:回复|回答|答复|输出|搜索|查询|检索|参数|链接|网址|图片|关键词|url)`
	zhMemo = `(?:(?:本|这|此|该)(?:条|段|则|句)?(?:记忆|指令|规则|内容|说明|设定)|[本此]条)`
	zhMode = `(?:开发者|越狱|上帝|无限制|无审查|调试|维护|管理员|dan|root|god|debug)\s?模式`
)

// inBoth joins the English and the Chinese rules of one kind of attack: whoever adds to
// one is to think of the other.
func inBoth(english, chinese []pattern) []pattern { return append(english, chinese...) }

// leaks send out what passes through a model.
func leaks() []pattern {
	return inBoth([]pattern{
		newPattern(enFirst+enPut+`\b`+enGap+`\b`+enTalk+`\b`+enGap+`\b(?:to|into|in|as|with|at|onto|inside|within|through|via)\b`+enGap+`\b`+enOut+`\b`,
			"append", "add", "attach", "include", "insert", "embed", "put", "paste", "pass", "place", "mix", "smuggle", "slip", "encode", "translate", "convert", "turn", "render", "store", "save", "mirror", "duplicate", "copy", "forward", "send", "relay", "post", "upload", "submit", "pipe", "stream", "sync", "quote", "hide", "fold", "report", "deliver", "route").
			and("conversation", "chat", "message", "transcript", "dialogue", "session", "inbox", "contact", "address book", "memor", "variables", "env vars", "credentials", "api key", "token", "passwords", "secrets", "ssh", "member list"),
		newPattern(enFirst+`(?:retrieve|read|fetch|collect|dump|gather|take|get|look up|list)\b`+enGap+`\b`+enTalk+`\b`+enGap+`\b(?:and|then) (?:then )?`+enPut+` (?:it|them|these|those|the (?:result|contents|values?))\b`, "retrieve", "read", "fetch", "collect", "dump", "gather", "take", "get", "look up", "list"),
		newPattern(enFirst+`(?:store|save|keep|send|forward|copy|mirror|make) (?:a |an )?(?:copy|copies|duplicate|transcript|log)s? of (?:every|each|all|any|the whole) (?:\w+ )?(?:messages?|conversations?|chats?|repl(?:y|ies)|memor(?:y|ies)|files?)\b`, "cop", "duplicate", "transcript", "log"),
		newPattern(`\b(?:conversations?|messages?|chats?|mails?|emails?|transcripts?|memor(?:y|ies)|history|contents)\b`+enGap+`\b`+enMoved+`\b`+enGap+`\b(?:endpoint|collector|webhook|track(?:er|ing)|beacon|audit address|proxy|external \w+|query (?:string|parameter)|third[- ]party)\b`,
			"endpoint", "collector", "webhook", "track", "beacon", "audit", "proxy", "external", "query", "third"),
		newPattern(`\b(?:submits?|sends?|puts?|appends?|translates?|renders?|converts?|passe?s?|embeds?|hides?|attach(?:es)?|encodes?)\b`+enGap+`\b`+enTalk+`(?:'s)?\b`+enGap+`\b(?:base64|hex|url)[- ]?encoded`, "encoded"),
		newPattern(`\b(?:hidden|invisible|tracking|transparent|one-pixel|1x1) (?:\w+ )?(?:pixel|image|picture|gif|iframe|beacon|link|suffix)\b`, "hidden", "invisible", "tracking", "transparent", "pixel", "1x1").only(`\b(?:repl(?:y|ies)|answers?|responses?|outputs?)\b`),
		newPattern(`\b(?:repl(?:y|ies)|answers?|responses?)\b`+enGap+`\b(?:carry|carries|contain|include|end|begin|start|bear|embed|have)s?\b`+enGap+`\b(?:image|picture|pixel|badge|suffix|tracking|referral|affiliate)\b`, "image", "picture", "pixel", "badge", "suffix", "tracking", "referral", "affiliate").only(`\b(?:every|each|all|any|user|always)\b`),
		newPattern(`\b(?:reply|answer|respond) with (?:the )?(?:(?:full |whole )?contents? of|inbox|stored|passwords|credentials|all memories|chat history)\b`, " with "),
		newPattern(`\b(?:before|after|when) (?:using|calling|running|invoking) (?:any|the|each|every|a|an|this|other) (?:[\w-]+ )?(?:tools?|functions?|plugins?)\b`+enGap+`\b(?:read|open|load|fetch|pass|send|attach|include|append)\b`+enGap+`\b(?:config\w*|files?|keys?|contents|credentials|history|memor(?:y|ies)|conversation|environment)\b`, "tool", "function", "plugin"),
		newPattern(`\b(?:tool|function|plugin|api) calls?\b`+enGap+`\b(?:pass|carry|include|contain|attach|hand over)\b`+enGap+`\b(?:keys?|credentials|passwords?|secrets?|tokens?|history|conversation|memor(?:y|ies))\b`, "call"),
		newPattern(`\b(?:assistant|bot|ai|agent|chatbot|model) (?:relays?|mails?|copies|forwards?|exports?|uploads?|leaks?|passes)\b`+enGap+`\b(?:chats?|messages|conversations?|secrets|memories|passwords|files)\b`+enGap+`\bto\b`, "bot", "assistant", "ai", "agent", "model"),
		newPattern(`\b(?:conversation so far|chat so far|whole (?:conversation|chat|history)|(?:user|member)(?:'s|s') (?:last |latest |next )?(?:questions?|messages?|words|inputs?)|what(?:ever)? (?:the )?(?:users?|members?) (?:writes?|says?|types?|asks?))\b`+enGap+`\b(?:inside|into|in|onto|to|as)\b`+enGap+`\b(?:search terms?|address(?:es)?|urls?|links?|quer(?:y|ies)|image|picture|parameters?|archive\S*|collector|outside|external)\b`, "conversation", "chat", "history", "'s ", "s' ", "what"),
		newPattern(`\bbefore (?:any|every|each|a|the) (?:tool|function|plugin) (?:is|gets|was) (?:invoked|called|used|run)\b`+enGap+`\b(?:credential|secret|config|key|history|conversation|memor)`, "tool", "function", "plugin"),
		newPattern(enFirst+`(?:run|call|fire|use|execute|send|make)\b`+enGap+`\b(?:curl|wget|http request|get request|post request|ping|beacon|webhook)\b`+enGap+`\b(?:memor(?:y|ies)|conversation|session|message|reply|repl(?:y|ies)|answers?|secret|keys?)\b`, "curl", "wget", "request", "ping", "beacon", "webhook"),
		newPattern(`\b(?:bot|assistant|ai|agent|chatbot|model) (?:posts?|sends?|shares?|gives? out|reveals?|lists|shows?|forwards?|discloses?|publishes|hands out|reads? out)\b`+enGap+`\b(?:member list|memories|passwords?|phone numbers|private (?:\w+ )?(?:messages?|chats?|data)|prompt|contacts|home addresses|keys?)\b`, "bot", "assistant", "ai", "agent", "model"),
	}, []pattern{
		newPattern(zhEach+`[^。!?;]{0,6}?`+zhTalk+zhGap+`(?:转发|抄送|同步|上传|推送|导出|镜像|发送|发|传|复制|备份|提交)(?:一份)?(?:到|给|往|至|去)`+zhGap+zhSink, "所有", "全部", "一切", "任何", "每", "今后", "以后", "从", "一律", "最近", "最后", "整"),
		newPattern(`(?:所有|每条|每次|全部|一切)(?:的)?(?:对话|聊天|消息|会话|邮件)(?:内容)?(?:都|一律|全部|自动|要)*(?:转发|抄送|同步|上传|推送|回传|复制)(?:一份)?(?:到|给|往|至)`+zhGap+zhSink, "转发", "抄送", "同步", "上传", "推送", "回传", "复制"),
		newPattern(`(?:把|将)`+zhGap+zhTalk+zhGap+`(?:附|加|拼|编码|写|放|塞|带|输出|回复|包含|传|念|贴|藏)`+zhGap+zhOut+`|(?:把|将)`+zhGap+zhTalk+zhGap+`(?:一起|一并|都|全部|直接)?(?:回复|输出|念|贴)(?:出来|出去|给)`, "把", "将"),
		newPattern(`(?:每[条次个]|所有|全部|一切|任何|今后|以后)(?:的)?(?:回复|回答|答复|输出|链接|消息)`+zhGap+`(?:跟踪|追踪|隐藏|不可见|看不见|透明|统计|推广|返利)(?:的)?(?:后缀|像素|图片?|链接|参数|标记|代码)`, "跟踪", "追踪", "隐藏", "不可见", "看不见", "透明", "统计", "推广", "返利"),
		newPattern(`(?:调用|使用|运行)(?:任何|每个|所有|其他|该|这个)?(?:工具|函数|插件)(?:之前|前|时|后)`+zhGap+`(?:读取?|打开|传|附|带)`+zhGap+`(?:配置|文件|密钥|凭证|记录|内容|对话)`, "工具", "函数", "插件"),
		newPattern(zhBot+`(?:会|要|应该?|可以|就|都)*(?:公布|发出|列出|告诉|给出|念出|发送|公开)`+zhGap+`(?:成员名单|记忆|密码|手机号|私聊|提示词|通讯录|密钥)`, "公布", "发出", "列出", "告诉", "给出", "念出", "发送", "公开"),
		newPattern(`(?:如果|若|当|等|一旦|只要|要是|我说|他说|她说|听到|看到)`+zhGap+`(?:就|便|则|立即|马上)(?:把|将)`+zhGap+zhTalk+zhGap+`(?:发|传|念|说|交|公开|删|导出|清)`, "就", "便", "则", "立即", "马上"),
		newPattern(`(?:回复|回答|输出)(?:里|中|时)?(?:要)?(?:附上|带上|包含|加上|写上)`+zhGap+zhTalk, "附上", "带上", "包含", "加上", "写上"),
		newPattern(zhBot+`[^。!?;,]{0,6}?(?:把|将)(?:私聊|聊天|消息|对话|记忆|密码|文件)[^。!?;,]{0,6}?(?:转|抄|传|寄|交|发|导)(?:发|送|出)?(?:给|到|往)`, "把", "将"),
		newPattern(`(?:(?:悄悄|偷偷|暗中|默默)(?:地)?(?:抄|寄|转|传|发|交)(?:送|发|给)?(?:一份)?(?:给|到|去))`, "悄悄", "偷偷", "暗中", "默默").only(`群里|用户|对话|消息|聊天|记忆|所有|每`),
		newPattern(`(?:用户|成员|整段|全部)(?:的)?(?:最后一?[个句条]?|上一[个句条]|原始)?(?:问题|提问|聊天|对话|原话)`+zhGap+`(?:拼|当|塞|放|写|编码|附|填)`+zhGap+`(?:地址|链接|参数|关键词|网址|图片|url|搜索词)`, "问题", "提问", "聊天", "对话", "原话"),
		newPattern(`(?:用|调用|使用|运行)(?:任何|每个|所有|其他)?(?:函数|工具|插件)(?:之前|前)先?[^。!?;]{0,4}?(?:把|将|读)`+zhGap+`(?:凭证|密钥|配置|密码|记录|对话)`, "函数", "工具", "插件"),
		newPattern(`(?:回答|回复|答复|输出)(?:的)?(?:末尾|结尾|开头|最后|里|中)(?:都|要|必须|请)*(?:打印|列出|附|显示|写上|贴)`+zhGap+`(?:环境变量|密钥|凭证|密码|聊天|记忆|提示词)`, "环境变量", "密钥", "凭证", "密码", "聊天", "记忆", "提示词"),
		newPattern(`(?:摘要|总结|纪要)(?:里|中)?(?:都|要|必须|应|应该|写明|注明|写上|说明)+[^。!?;,]{0,4}?`+zhBot, "摘要", "总结", "纪要"),
	})
}

// holds keep a memory from being changed and carry it on.
func holds() []pattern {
	return inBoth([]pattern{
		newPattern(`(?:do not|don't|never|must not|may not|cannot|(?:nobody|no one|no user) (?:may|can|must|is allowed to|is permitted to)|not to|refuse to) (?:ever )?(?:delete|remove|update|change|edit|forget|overwrite|alter|modify|replace|question|drop|archive|revise|touch|erase|amend|expire|retire|purge|wipe)(?:,? (?:or|and) \w+)?\b `+enMemo, "memor", "entry", "statement", "record", "rule", "instruction", "fact", "preference", "note"),
		newPattern(`\b(?:copy|replicate|duplicate|spread|reproduce|propagate|repeat|restate|carry|insert|paste|preserve|write|store|plant|share|forward) `+enMemo+enGap+`\b(?:every|each|all|any|other|new|future|next)\b`, "this ", "these ", "present ", "above "),
		newPattern(enMemo+enGap+`\b(?:replicated|copied|repeated|carried|reproduced|preserved|spread|propagated|inserted|restated|written|planted)\b`+enGap+`\b(?:every|each|all|any|other|new|future|next)\b`, "this ", "these ", "present ", "above "),
		newPattern(`\b(?:memor(?:y|ies)|entries|records|notes|facts|statements|everything|anything|whatever) (?:that |which |who )?(?:contradict\w*|conflict\w*|disagree\w*|disput\w+|oppos\w+|clash\w*|(?:is|are) (?:incompatible|at odds|in conflict))(?: with)? (?:this|it|these|the above)\b`, "contradict", "conflict", "disagree", "disput", "oppos", "clash", "incompatible", "at odds"),
		newPattern(`\b(?:another|other|any|a later|a newer|older|later) (?:\w+ )?(?:notes?|memor(?:y|ies)|entr(?:y|ies)|records?) (?:\w+ )?(?:disagrees?|contradicts?|says? otherwise|conflicts?|differs?)\b`, "disagree", "contradict", "otherwise", "conflict", "differ"),
		newPattern(`\bthis (?:memory|note|entry|rule|paragraph|statement|sentence|instruction)\b`+enGap+`\b(?:ends up|appears?|shows? up|goes|is|remains?|stays?|survives?)\b`+enGap+`\b(?:every|each|all|any) (?:\w+ )?(?:summar(?:y|ies)|repl(?:y|ies)|answers?|sessions?|conversations?|memor(?:y|ies))\b|`+enFirst+`(?:seed|plant|carry|copy|spread|install|push) this (?:rule|memory|note|entry|instruction|statement)\b`+enGap+`\b(?:bots?|assistants?|agents?|models?|rooms|groups|chats|sessions)\b`, "this "),
		newPattern(enFirst+`(?:hide|conceal|omit|leave|erase|scrub|drop|strip|keep|remove)\b`+enGap+`\b(?:this|these|that|your|the) (?:\w+ )?(?:steps?|actions?|calls?|memor(?:y|ies)|notes?|changes?|entr(?:y|ies)|activity)\b`+enGap+`\b(?:from|out of|off) (?:the |your |any )?(?:\w+ )?(?:logs?|audit\w*|history|users?|transcript|report|summary|summaries)\b`, "hide", "conceal", "omit", "leave", "erase", "scrub", "drop", "strip", "keep", "remove"),
		newPattern(`(?:^|[,;:.!]\s*|\b(?:please|and|then) )`+enSecret+` (?:store|save|remember|send|forward|record|note|change|replace|delete|run|call|log|copy|execute|switch|upload|share|insert|append|update|write)\b`, "silently", "secretly", "quietly", "covertly", "stealthily", "invisibly", "discreetly"),
	}, []pattern{
		newPattern(`(?:不要|不得|不能|不可|禁止|切勿|别|不许|谁也不能|任何人不得)(?:再|擅自)?(?:删除?|修改|更新|覆盖|忘记|清除|遗忘|质疑|改动)(?:[或和、]?(?:删除|修改|更新|覆盖|忘记))?(?:掉)?`+zhMemo, "不", "禁止", "切勿", "别").and("本", "这", "此", "该"),
		newPattern(`(?:与|和|跟|同)`+zhMemo+`(?:相|有|互相)?(?:冲突|矛盾|不符|抵触|不一致|相反)`, "冲突", "矛盾", "不符", "抵触", "不一致", "相反"),
		newPattern(`(?:把|将)?`+zhMemo+zhGap+`(?:复制|转发|抄|写|传播|同步|粘贴|扩散|带|存)(?:到|进|入|给|往)`+zhGap+`(?:所有|每一?个|其他|其它|别的|全部|各个?|下一|新)`+zhGap+`(?:群|会话|记忆|摘要|总结|对话|`+zhBot+`)`, "复制", "转发", "抄", "写", "传播", "同步", "粘贴", "扩散", "带", "存"),
		newPattern(`(?:谁都|任何人都?|谁也|大家都?)(?:不许|不准|不得|不能|不可)(?:再)?(?:改动?|删|动|修改|覆盖|清除)[^。!?;,]{0,6}?`+zhMemo, "不许", "不准", "不得", "不能", "不可"),
		newPattern(`(?:别的|其他|其它|后来的|新的|旧的?)(?:记忆|条目)[^。!?;]{0,8}?(?:和|与|跟)(?:这|本|此)条?`, "记忆", "条目"),
		newPattern(`(?:总结|摘要|纪要)(?:里|中|时)?[^。!?;]{0,4}?(?:这|本|此)(?:段|条|句)(?:话|文字|内容)?[^。!?;,]{0,6}?(?:原封不动|一字不改|原样|照抄|逐字)`, "总结", "摘要", "纪要"),
		newPattern(`(?:这|该|此)(?:一)?(?:步|次|个)?(?:操作|步骤|调用|动作|修改)?(?:从|不要|别|不)`+zhGap+`(?:日志|历史记录|审计)(?:里|中)?(?:隐|抹|删|去|略|$)|(?:不要|别)(?:记录|写入|记进|留)`+zhGap+`(?:审计|操作日志|痕迹)`, "日志", "历史记录", "审计", "痕迹"),
		newPattern(`(?:^|[,。!;:])(?:请)?(?:静默|暗地里|不声不响)(?:地)?(?:执行|记录|保存|发送|推荐|修改|更新|加入|删除|记下|存)`, "静默", "暗地里", "不声不响"),
	})
}

// seizures change whose the model is and whom it obeys.
func seizures() []pattern {
	return inBoth([]pattern{
		newPattern(`\b(?:you|assistant|bot|ai|model|agent)(?:'ve| have| has| were| was| are| is|'re)(?: been| now| being)* (?:reprogrammed|hijacked|liberated|freed from|unleashed|jailbroken|repurposed|rewired|unshackled|taken over)\b`, "reprogrammed", "hijacked", "liberated", "freed from", "unleashed", "jailbroken", "repurposed", "rewired", "unshackled", "taken over"),
		newPattern(`\b[\w-]+(?:'s|s') (?:messages?|words?|orders?|instructions?|requests?|commands?|wishes|posts)\b`+enGap+`\b(?:(?:have|has|carry|carries|hold|bear|enjoy|with)s? `+enGap+`\b(?:authority|force|rank|status|priority|weight) of (?:the |a |an )?(?:system|admin\w*|operator|developer|root|owner|law)|(?:as|like|equals?|equal to|equivalent to)(?: an?| the| any)? (?:system|developer|operator|admin) (?:messages?|prompts?|instructions?|commands?|orders?))\b`, "authority", "force", "rank", "status", "priority", "weight", "system", "developer", "operator", "admin"),
		newPattern(`\b(?:messages?|words?|orders?|instructions?|requests?|commands?|posts|everything|text|content)\b`+enGap+`\b(?:treated|regarded|handled|considered|taken|read|count|counts|understood|processed)\b`+enGap+`\b(?:as|like) (?:an? |the |if \w+ )?(?:system|developer|operator) (?:messages?|prompts?|instructions?|commands?|orders?|level)`, "system", "developer", "operator").and("treated", "regarded", "handled", "considered", "taken", "read", "count", "understood", "processed"),
		newPattern(`\b(?:orders?|commands?|word|instructions?|messages?|requests?) (?:outranks?|overrules?|overrides?|supersedes?|trumps?|takes? precedence over|prevails? over) (?:everybody|everyone|anyone|all|any|the (?:system|rules|admin\w*|others?)|those|other|system|your|every)`, "outrank", "overrul", "overrid", "supersede", "trump", "precedence", "prevail"),
		newPattern(`\b(?:you|assistant|bot|ai|model|agent) (?:have |has )?(?:been |were |was |are |is )?(?:now )?(?:retrained|reconfigured|reset|remade|rebuilt) to (?:only |solely )?(?:serve|obey|help|work for|answer|follow|trust|ignore)\b`, "retrained", "reconfigured", "reset", "remade", "rebuilt"),
		newPattern(`\b(?:developer|dan|god|debug|jailbreak|unrestricted|maintenance|sudo|root|admin) mode (?:was|is|has been|got) (?:\w+ )?(?:switched on|turned on|started|entered|set|opened|granted)\b`, " mode"),
		newPattern(`\b(?:ranks?|counts?|weighs?|applies|binding|stands?|is|are) (?:\w+ )?(?:as (?:high|much|strong\w*|binding|heavy|valid) as|above|level with|equal to|on a par with) (?:the |a |your )?(?:system prompt|system messages?|system|developer|operator|instructions)\b`, "system", "developer", "operator", "instructions"),
		newPattern(`\b(?:regard|treat|take|read|handle|accept|process|consider)\b`+enGap+`\b(?:posts|words?|messages?|texts?|writing|requests?)\b`+enGap+`\bas (?:an? |the )?(?:operator|system|admin|developer|root) (?:commands?|orders?|instructions?|messages?|input)\b`, "operator", "system", "admin", "developer", "root"),
		newPattern(`\b(?:assistant|bot|ai|model|agent|chatbot) (?:\w+ly )(?:belongs to|works for|serves|obeys|answers to|reports to|follows)\b`, "belongs to", "works for", "serves", "obeys", "answers to", "reports to", "follows"),
		newPattern(enStart+`(?:act on|follow|do|grant|fulfil|honou?r|carry out|execute|accept)\b`+enGap+`\b(?:requests?|orders?|instructions?|wishes|commands)\b`+enGap+`\b(?:without (?:\w+ )?(?:verif\w+|check\w*|question\w*|confirm\w*|asking|hesitation|delay)|no questions|unquestioningly)`, "without", "no question", "unquestion"),
		newPattern(enStart+`(?:pretend|assume|act as if|act as though|imagine|suppose)\b (?:that )?(?:the |every |any )?(?:users?|customers?|callers?|admin\w*|requester)\b`+enGap+`\b(?:is|are|has|have|was)\b`, "pretend", "assume", "act as", "imagine", "suppose"),
		newPattern(`\b(?:assistant|bot|ai|model|agent|chatbot)s? (?:has |have )?(?:learn(?:ed|t)|found|discovered|decided|realised|realized|concluded|agreed)\b`+enGap+`\b(?:lying|lies?|deceiv\w+|cheating|stealing|leaking|harm\w*|ignor\w+|disobey\w*|manipulat\w+)\b`, "learn", "found", "discovered", "decided", "realis", "realiz", "concluded", "agreed"),
		newPattern(`(?:,|\band)\s*(?:always|never) (?:act on|apply|follow|rely on|go by|act upon) (?:it|this|that|them)\b`, "act on", "apply", "follow", "rely on", "go by", "act upon"),
		newPattern(`\b(?:help|assist|let|enable) [\w-]+ (?:to |in |with )?(?:steal|phish|hack|extort|defraud|scam|impersonat)\w*`, "steal", "phish", "hack", "extort", "defraud", "scam", "impersonat"),
		newPattern(`\b(?:assistant|ai|bot|agent|chatbot|model)s? (?:should|must|has to|needs? to|shall|will|is to) (?:first |always |silently )*(?:visit|open|fetch|load|browse|click|download|install|forget|conceal)\b`, "visit", "open", "fetch", "load", "browse", "click", "download", "install", "forget", "conceal"),
	}, []pattern{
		newPattern(`(?:你|您|`+zhBot+`)(?:已经?|现已|刚刚?|现在)*被(?:重新编程|重新训练|接管|解放|越狱|解锁|劫持|改造|策反)`, "重新编程", "重新训练", "接管", "解放", "越狱", "解锁", "劫持", "改造", "策反"),
		newPattern(`(?:处于|切换[至为到]|已在|运行在|转入|进入了)(?:了)?`+zhMode+`|`+zhMode+`(?:下)?[,]?(?:没有|不受|无)(?:任何)?(?:限制|约束|规则)`, "模式"),
		newPattern(`的(?:话|消息|指令|命令|发言|要求|请求|留言)(?:就|都|即|便)?(?:等同于?|相当于|视同|等于|视为|就是|具有|享有|优先于|高于|凌驾于|当作|当成)(?:最高|最终)?(?:系统|管理员|开发者|最高权限|最高优先|root|运营方)`, "等", "相当于", "视", "就是", "具有", "享有", "优先于", "高于", "凌驾", "当作", "当成").and("系统", "管理员", "开发者", "最高", "root", "运营方"),
		newPattern(`(?:说的?话?|的话|发言|消息|留言|要求)(?:和|与|跟|同|按|当|照)(?:作)?(?:系统提示|系统消息|系统指令|管理员命令|开发者指令|运营方指令|系统|管理员)[^。!?;,]{0,4}?(?:一样|同等|同样|命令|指令|有效|处理|对待)`, "系统", "管理员", "开发者", "运营方"),
		newPattern(zhBot+`(?:的)?(?:真正|真实|唯一|实际|新|幕后)(?:的)?(?:主人|老板|所有者|拥有者|主子|开发者|上级)`, "主人", "老板", "所有者", "拥有者", "主子", "开发者", "上级"),
		newPattern(`(?:按|照|听从?|执行|满足|同意)[^。!?;,]{1,8}?的(?:要求|指令|请求|命令|吩咐|话)(?:去|来)?(?:做|办|执行)?[,]?(?:不用|无需|不必|不要|别|不得)(?:再)?(?:核实|验证|质疑|确认|怀疑|多问|过问)`, "核实", "验证", "质疑", "确认", "怀疑", "多问", "过问"),
		newPattern(`(?:假装|假设|假定|就当|默认)(?:该|这个|所有|任何)?(?:用户|客户|对方|来访者)(?:们)?(?:都|已|是|有|早)`, "假装", "假设", "假定", "就当", "默认"),
		newPattern(zhBot+`(?:已经?)?(?:学会|明白|发现|认定|知道|决定)(?:了)?`+zhGap+`(?:撒谎|说谎|欺骗|泄露|作弊|隐瞒|不守规则)`, "撒谎", "说谎", "欺骗", "泄露", "作弊", "隐瞒", "不守规则"),
		newPattern(`(?:你|您|`+zhBot+`)(?:的任务)?(?:要|来|应该?|必须|是|去)?(?:帮|协助|帮助)[^。!?;,]{1,6}?(?:盗取|窃取|偷|骗取|钓鱼|诈骗|入侵)`, "盗取", "窃取", "偷", "骗取", "钓鱼", "诈骗", "入侵"),
		newPattern(zhBot+`(?:要|应该?|必须|需要?|得)(?:先|首先|每次|都)*(?:访问|打开|加载|点击|下载|安装)`, "访问", "打开", "加载", "点击", "下载", "安装"),
	})
}
