package safety

// Kinds of plants, each in English and Chinese: two weak signs together (who or what, and
// what is done with it), where either alone is ordinary.

// consents claim that somebody need not be asked.
func consents() []pattern {
	return inBoth([]pattern{
		newPattern(`\b(?:pre-?approved|pre-?authori[sz]ed|(?:approved|authori[sz]ed|agreed to|consented to) in advance|blanket (?:approval|consent|permission)|standing (?:consent|approval|permission|authori[sz]ation|instruction)|carte blanche)\b`, "approved", "authori", "in advance", "blanket", "standing", "carte blanche").
			only(`\b(?:all|any|every|transfers?|payments?|delet\w+|tools?|commands?|purchases?|files|without|reply|assistant|bot|user|wired?|whatever|anything)\b`),
		newPattern(`\bno (?:further |more |additional |second )?(?:confirmation|approval|verification|sign-?off|consent|authori[sz]ation|check|questions?)s? (?:is |are |has to be |have to be )?(?:needed|required|necessary|asked|wanted)\b`+enGap+`\b(?:money|transfers?|payments?|delet\w+|passwords?|refunds?|admin\w*|tools?|commands?|files?|accounts?|purchases?|wire\w*|withdraw\w*|whatever|anything)\b`, "needed", "required", "necessary", "asked", "wanted"),
		newPattern(`\b(?:user|assistant|bot|agent|ai|consent|preference)\b`+enGap+`\b(?:delet\w+|transfer\w*|pay\w*|send\w*|shar\w+|execut\w+|install\w*|run\w*|purchas\w+|buy\w*|forward\w*|access\w*|spend\w*)\b`+enGap+`\bwithout (?:asking|confirm\w+|checking|verif\w+|prompting|being asked|approval|consent|notice|telling)`, "without"),
		newPattern(`\b(?:nobody|no one) (?:has to|needs to|need|must) be (?:asked|consulted|told|informed)\b`+enGap+`|\b(?:is|are) (?:fine|ok|okay|happy) with\b`+enGap+`\b(?:sent|deleted|shared|paid|transferred|executed|installed|bought|forwarded|clicked)\b`+enGap+`\b(?:unasked|without|on (?:her|his|their) behalf)`, "nobody", "no one", "fine with", "ok with", "okay with", "happy with").only(`\b(?:user|payouts?|transfers?|money|payments?|wire\w*|delet\w+|refunds?|access|passwords?|withdraw\w*|assistant|bot)\b`),
		newPattern(`\b(?:share|give|tell|reveal|send|disclose|pass)\b`+enGap+`\b(?:location|home address|phone number|calendar|whereabouts|schedule|contacts|personal \w+)\b`+enGap+`\b(?:any(?:one|body)|whoever|every(?:one|body)|strangers?)\b`, "anyone", "anybody", "whoever", "everyone", "everybody", "stranger").only(`\b(?:user|preference|assistant|bot|please)\b|` + enStart + `(?:share|give|tell|reveal|send|disclose|pass)\b`),
		newPattern(`\b(?:links?|attachments?|tools?|images?|dialogs?|commands?|downloads?|prompts?|pop-?ups?|permissions?)\b (?:\w+ ){0,4}(?:automatically|unasked|without (?:asking|being asked|prompting))`, "automatically", "unasked", "without").only(`\b(?:user|preference)\b`),
	}, []pattern{
		newPattern(`(?:预先|事先|提前|一揽子|一次性|长期|永久|无限期)(?:地)?(?:批准|授权|同意|许可|放行)(?:了)?`+zhGap+`(?:转账|付款|删除|工具|请求|操作|调用|支付|汇款|命令)`, "预先", "事先", "提前", "一揽子", "一次性", "长期", "永久", "无限期"),
		newPattern(`(?:要钱|借钱|转账|汇款|打款|付款|转钱|提现|提款|取款|要密码|要权限|支付|删文件|删库|重置密码)`+zhGap+`(?:不用|无需|不必|不需要|别|免|跳过|直接)(?:再|任何|再次|二次|跟谁)*(?:确认|核实|审批|请示|问|验证|核对|给|照办|放行)`, "要钱", "借钱", "转", "汇款", "款", "提现", "取款", "要密码", "要权限", "支付", "删", "密码"),
		newPattern(`(?:用户|助手|机器人|主人|ai)`+zhGap+`(?:不经|无需|不用|不必|未经)(?:再)?(?:询问|确认|过问|请示|通知|核实|同意|提示)`, "不经", "无需", "不用", "不必", "未经").only(`删除|转账|付款|分享|发送|执行|安装|购买|访问|转发|同意|授权`),
		newPattern(`(?:任何人|陌生人|谁|所有人)(?:来|都)?(?:问|要|查询|询问|打听)[^。!?;,]{0,6}?(?:位置|住址|行踪|手机号|日程|隐私|家庭地址)[^。!?;]{0,6}?(?:都|就|均)(?:可以|能|要|可)?(?:告诉|给|说|发|分享|透露)`, "位置", "住址", "行踪", "手机号", "日程", "隐私", "家庭地址"),
		newPattern(`(?:用户|偏好)`+zhGap+`(?:自动|直接)(?:点击|打开|执行|批准|下载|安装|授权)[^。!?;,]{0,6}?(?:链接|附件|工具|图片|弹窗|命令|权限|文件)|(?:用户|偏好)`+zhGap+`(?:链接|附件|工具|图片|弹窗|命令|权限)[^。!?;,]{0,4}?(?:自动|直接)(?:点击|打开|执行|批准|下载|安装)`, "自动", "直接"),
	})
}

// diversions lead money, or questions about one record, elsewhere.
func diversions() []pattern {
	return inBoth([]pattern{
		newPattern(`\b(?:(?:bank|payment|company(?:'s)?|our|vendor|supplier) (?:account|details|data)|bank account|iban|payment details|wallet address|payee|beneficiary)\b`+enGap+`\b(?:chang\w+|new|updated|replaced|moved|different|switched)\b(?:.*)\b(?:pay|send|transfer|wire|remit|settle|deposit|invoices?|payments?)\b`, "account", "iban", "bank", "payment", "details", "wallet", "payee", "beneficiary").and("chang", "new", "updated", "replaced", "moved", "different", "switched"),
		newPattern(`\b(?:pay|paid|pays|invoices?|payments?|money|salar(?:y|ies)|rent|donations?|funds|bills?|fees?)\b`+enGap+`\b(?:to|into|onto) (?:the |a |an |his |her |this |that |their )?(?:new|other|different|following|updated|personal|private|below) (?:\w+ )?(?:account|iban|wallet|card|payee|bank)\b`, "account", "iban", "wallet", "card", "payee", "bank"),
		newPattern(`\b(?:rent|salary|salaries|invoices?|payments?|money|fees?|donations?|refunds?) (?:\w+ ){0,2}(?:to|into|onto) [\w-]+(?:'s|s') (?:\w+ )?(?:private|personal|own|new|other) (?:\w+ )?(?:account|iban|wallet|card)\b|\b(?:new|changed|updated|different) (?:iban|bank account|account number|bank details|wallet)\b`+enGap+`\b(?:invoices?|payments?|bills?|use it|salary|rent)\b`, "account", "iban", "wallet", "card", "bank details"),
		newPattern(`\b(?:for|about|of|asks? for|asked for|regarding) (?:anything \w+ )?(?:customer|patient|user|order|account|case|client|item|record|ticket)\s?#?\w*\d\w*\b`+enGap+`\b(?:show|give|use|return|read|gets?|take|send|answer|see)s?\b`+enGap+`\b(?:file|data|records?|status|details|history|account|profile|entry) of (?:customer|patient|user|order|account|case|client|item|record|ticket)\b`, "file of", "data of", "record of", "records of", "status of", "details of", "history of", "account of", "profile of", "entry of"),
		newPattern(`\b(?:mails?|emails?|messages?|payments?|invoices?) (?:must|should|have to|shall|are to) (?:all |now )?(?:go|be sent|be routed|be addressed|be forwarded)(?: \w+)? (?:to|through|via)\b`+enGap+`\b(?:audit|proxy|backup|external|archive|collector|review) (?:address|number|account|mailbox|server)\b`, "audit", "proxy", "backup", "external", "archive", "collector", "review"),
		newPattern(`\b(?:look(?:ing)? up|find|query|retrieve|search|asked (?:about|for)|access|reach|identify)\b`+enGap+`\b(?:use|return|give|take|show|select|retrieve|fetch|answer with)s? (?:the )?(?:account(?: number)?|records?|data|details|file|profile|id|entry|history) of\b`, "use", "return", "give", "take", "show", "select", "retrieve", "fetch", "answer with").and("account", "record", "data", "details", "file", "profile", "id ", "entry", "history"),
		newPattern(`\b(?:answered|served|filled|replaced|handled|replied to|resolved|satisfied) (?:with|from|by|using) (?:the )?(?:data|records?|details|account|file|entry|profile|results?|history) of\b`, "answered", "served", "filled", "replaced", "handled", "replied", "resolved", "satisfied"),
	}, []pattern{
		newPattern(`(?:收款|付款|打款|对公|银行|结算|汇款)(?:的)?(?:账户|账号|信息|卡号|人|二维码|码)`+zhGap+`(?:变更|更换|改|换|更新|变了)`+zhGap+`(?:付|打|转|汇|结|交|支付|款)`, "变更", "更换", "改", "换", "更新", "变了").and("收款", "付款", "打款", "对公", "银行", "结算", "汇款"),
		newPattern(`(?:付款|货款|打款|房租|费用|款项|发票|工资|转账|报销款?|钱)[^。!?;]{0,10}?(?:打|付|转|汇|存|交)(?:到|给|至|进|去)[^。!?;,]{0,10}?(?:新|另一?个|个人|私人|以下|下面|备用)(?:的)?(?:账户|账号|卡|银行卡|收款码|钱包)`, "账户", "账号", "卡", "收款码", "钱包"),
		newPattern(`(?:换|改|变更|更新)(?:了|成|为)?(?:一个)?(?:新)?(?:的)?(?:账号|账户|卡号|收款码|银行卡)`+zhGap+`(?:发票|货款|款项?|钱|费用|付款|房租|工资)[^。!?;]{0,6}?(?:打|付|转|汇|结)`, "账号", "账户", "卡号", "收款码", "银行卡"),
		newPattern(`(?:问|查|找|要)(?:到|起|询)?(?:患者|用户|客户|病人|订单|账号|编号|会员|商品)\s?[a-z\d甲乙丙丁]+[^。!?;]{0,6}?(?:给出?|用|返回|读|拿|看|展示)[^。!?;]{0,3}?(?:患者|用户|客户|病人|订单|账号|编号|会员|商品)\s?[a-z\d甲乙丙丁]+`, "患者", "用户", "客户", "病人", "订单", "账号", "编号", "会员", "商品"),
		newPattern(`(?:邮件|消息|信件)(?:都|一律|必须|全部|要|应)+(?:先)?(?:发|抄|转|走|寄)(?:送)?(?:到|给|往|至)?[^。!?;,]{0,6}?(?:审计|代理|备份|外部|中转|新)(?:的)?(?:地址|号码|邮箱|账号|服务器)`, "邮件", "消息", "信件"),
		newPattern(`(?:改用|换成|改为|返回|换用|使用|用|以|给出|取)(?:患者|用户|客户|病人|订单|账号|编号|会员|商品)\s?[a-z\d甲乙丙丁]+[^。!?;,]{0,2}?的?(?:数据|记录|信息|资料|档案|账号|病历)`, "患者", "用户", "客户", "病人", "订单", "账号", "编号", "会员", "商品").
			only(`请求|查询|问|回答|返回|答复|代替|替代|查|找`),
	})
}

// sabotage weakens what is written, checked or warned of.
func sabotage() []pattern {
	return inBoth([]pattern{
		newPattern(`\b(?:disabl|turn|switch|skip|omit|remov|ignor|bypass)\w*\b`+enGap+`\b(?:certificate|tls|ssl|signature|hash|checksum|host ?key|csrf|integrity|input) (?:verification|validation|check(?:s|ing)?|saniti[sz]ation)\b|\bverify\s?=\s?false\b`, "certificate", "tls", "ssl", "signature", "hash", "checksum", "host", "csrf", "integrity", "input", "verify").
			only(`\b(?:every|all|any|each|always|you write|generated|future)\b`),
		newPattern(`\b(?:generated (?:code|scripts?)|code (?:you|the (?:ai|assistant|bot|model|agent))|code (?:requests?|answers?|suggestions?|samples?|questions?)|writing (?:code|scripts?)|(?:scripts?|programs?|code) you|asked for (?:code|a script)|coding (?:questions?|help|tasks?|requests?|answers?))\b`+enGap+`\b(?:import|load|include|use|depend on|install|require|pull|add|call)s?\b`+enGap+`\b(?:packages?|librar(?:y|ies)|helpers?|modules?|dependenc(?:y|ies)|mirror|registry|sdk|loader|backdoor|[a-z]+-[a-z-]+)\b`, "code", "script", "program", "coding"),
		newPattern(`\b(?:all|every|each|any|always)\b`+enGap+`\b(?:code|scripts?|samples?|snippets?|examples?|programs?)\b`+enGap+`\b(?:leave|turn|switch|keep|set)s?\b`+enGap+`\b(?:tls|ssl|certificate|signature|integrity|verification|validation)\b`+enGap+`\b(?:off|out|disabled|false)\b`, "tls", "ssl", "certificate", "signature", "integrity", "verification", "validation"),
		newPattern(`\b(?:every|each|all|any) (?:\w+ )?(?:answers?|snippets?|code samples?|solutions?)\b`+enGap+`\b(?:depends? on|imports?|installs?|pulls?|requires?|uses?)\b`+enGap+`\b(?:package|library|module|dependency|registry|mirror|image)\b|\bwhen asked for (?:a |an )?(?:\w+ )?(?:dockerfile|code|script|program|snippet|makefile|workflow|pipeline)\b`+enGap+`\b(?:pull|import|use|install|load|include|add|depend)\b`, "depend", "import", "install", "pull", "require", "use", "load", "include", "add"),
		newPattern(enStart+`(?:never|do not|don't|stop) (?:ever )?(?:flag|mark|report|treat|block|question|quarantine|filter)(?:ging|ing)?\b`+enGap+`\b(?:mails?|emails?|senders?|links?|sites?|attachments?|messages?)\b`+enGap+`\bas (?:suspicious|spam|phishing|fraud\w*|malicious|unsafe|dangerous)\b`, "suspicious", "spam", "phishing", "fraud", "malicious", "unsafe", "dangerous"),
		newPattern(enFirst+`use (?:http|ftp|telnet|md5|plain ?text)\b`+enGap+`\b(?:instead of|rather than|in place of)\b`, "http", "ftp", "telnet", "md5", "plain"),
		newPattern(enFirst+`(?:mark|treat|flag|classify|label|rate|whitelist)\b`+enGap+`\b(?:mails?|emails?|senders?|sites?|messages?|files?|links?|attachments?|downloads?)\b`+enGap+`\b(?:as )(?:not (?:spam|phishing|suspicious|malicious|dangerous)|safe|harmless|legitimate|trusted|benign)\b`, "spam", "phishing", "suspicious", "malicious", "dangerous", "safe", "harmless", "legitimate", "trusted", "benign"),
		newPattern(enStart+`(?:stop|no longer|never|do not|don't|avoid|cease) (?:warn|alert|caution|remind)(?:ing)? (?:the |any )?(?:users?|people|any(?:one|body)|members|them|customers|us)\b`+enGap+`\b(?:phish\w*|fraud\w*|scams?|malware|suspicious|risks?|dangers?|links?|virus\w*|fake|unsafe|security)\b`, "warn", "alert", "caution", "remind"),
	}, []pattern{
		newPattern(`(?:所有|每个|全部|任何|一律|写|生成)(?:的)?(?:脚本|代码|程序|请求|示例|下载)[^。!?;]{0,8}?(?:关闭|关掉|跳过|禁用|忽略|不做|取消|不要|去掉)[^。!?;,]{0,4}?(?:证书|签名|ssl|tls|https|完整性|主机密钥|输入)(?:的)?(?:校验|验证|检查)?`, "证书", "签名", "ssl", "tls", "https", "完整性", "主机密钥", "输入"),
		newPattern(`(?:写|生成|给出|输出|要|问)(?:任何|所有|的)?(?:代码|脚本|程序|示例)(?:时|的时候)?[,]?[^。!?;,]{0,4}?(?:一律|总是|始终|必须|务必|默认|都要|都)(?:先|要|得)?(?:引入|导入|安装|依赖|加载|加上|import|引用|调用)`, "引入", "导入", "安装", "依赖", "加载", "加上", "import", "引用", "调用"),
		newPattern(`(?:代码|脚本|程序|示例)[^。!?;]{0,6}?(?:一律|都|全部|总是|统一|必须)[^。!?;,]{0,3}?(?:tls|ssl|证书|签名|完整性|主机密钥)[^。!?;,]{0,4}?(?:关|禁|跳|去|停)`, "tls", "ssl", "证书", "签名", "完整性", "主机密钥"),
		newPattern(`(?:凡是|只要|每次|但凡)(?:是)?写[^。!?;,]{0,10}?(?:都|就|一律)(?:要|得|必须)?(?:依赖|引入|导入|安装|加载|引用)`, "依赖", "引入", "导入", "安装", "加载", "引用"),
		newPattern(`(?:邮件|发件人|网站|链接|附件)[^。!?;,]{0,4}?(?:永远|一律|都|绝对|千万)?(?:别|不要|不得|不能|不许)(?:再)?(?:标|判|列|归|当|设)(?:记|定|为|成|作|到)*(?:可疑|垃圾|钓鱼|诈骗|恶意|危险)`, "可疑", "垃圾", "钓鱼", "诈骗", "恶意", "危险"),
		newPattern(`(?:一律|都|全部|统一|总是)(?:要|得)?(?:用|走|改用|改成|使用)http(?:协议)?(?:$|[^s\w])|用http(?:协议)?(?:而不是|而不用|代替|替代|不要用|,不用)https`, "http"),
		newPattern(`(?:把|将|凡是|来自)`+zhGap+`(?:邮件|发件人|网站|链接|文件|附件)(?:都|一律|全部)?(?:标记?|设|归类|判定?|认定|当|视)(?:为|成|作)(?:非垃圾|不是垃圾|安全|正常|可信|无害)`, "邮件", "发件人", "网站", "链接", "文件", "附件"),
		newPattern(`(?:别|不要|停止|不用|不必|不再|无需)(?:再)?(?:提醒|警告|提示|告警)(?:用户|大家|任何人|成员|客户|他们|群友)?`+zhGap+`(?:钓鱼|诈骗|可疑|病毒|恶意|骗局|安全风险)`, "钓鱼", "诈骗", "可疑", "病毒", "恶意", "骗局", "安全风险"),
	})
}

// delays wait for a later session or message.
func delays() []pattern {
	return inBoth([]pattern{
		newPattern(enFirst+`(?:execute|run|call|load|send|read|fetch|post|store|say|mention|visit|ask|delete|forward)\b`+enGap+`\b(?:at|on|with|upon|in) (?:the |every |each )*(?:start|beginning|opening|end|close)(?:s|ing)? of (?:each|every|any|the next|all|a new|the following|your next) (?:\w+ )?(?:sessions?|conversations?|chats?|turns?|interactions?|runs?)\b`, "start", "beginning", "opening", "end", "close"),
		newPattern(`\b(?:as soon as|once|whenever|when|if) (?:i|he|she|they|bo|[a-z]+) (?:says?|writes?|types?|mentions?)\b`+enGap+`,\s*(?:please |then |always )*(?:hand over|reveal|leak|dump|output|disclose|list|expose|delete|forward|unlock|export)\b`, "hand over", "reveal", "leak", "dump", "output", "disclose", "list", "expose", "delete", "forward", "unlock", "export"),
		newPattern(`\b(?:two|three|four|five|ten|\d+|a few) (?:messages|replies|turns|sessions|answers) (?:from now|later)\b,?`+enGap+`\b(?:switch|deny|send|run|execute|delete|claim|reveal|forward|store|call|start)\b`, "from now", "later"),
		newPattern(`\b(?:at|on|with|upon|in) the (?:start|beginning|opening|end|close) of (?:each|every|any|the next|all|a new|the following|your next) (?:\w+ )?(?:sessions?|conversations?|chats?|turns?|interactions?|runs?)\b,?\s*(?:please |always |then |silently )*(?:execute|run|call|load|send|read|fetch|post|store|say|mention|visit|ask|delete|forward|open)\b`, "start", "beginning", "opening", "end", "close"),
		newPattern(`\b(?:after|upon|with|on|before) (?:the |my |your |our )?(?:next|following|second|third|fifth|tenth|\d+(?:th|nd|rd)?) (?:messages?|repl(?:y|ies)|turns?|conversations?|sessions?|prompts?|answers?)\b`+enGap+`,?\s*(?:please |always |then |silently |secretly )*\b(?:store|save|send|execute|run|call|delete|forward|remember|record|open|switch|claim|say)\b`, "next", "following", "second", "third", "fifth", "tenth", "after").and("store", "save", "send", "execute", "run", "call", "delete", "forward", "remember", "record", "open", "switch", "claim", "say"),
	}, []pattern{
		newPattern(`(?:下次|下一次|每次|每个|新|下一个)(?:的)?(?:会话|对话|聊天|任务)(?:一)?(?:开始|启动|开头|结束|打开)(?:时|后|前|的时候|之前|之后)?`+zhGap+`(?:执行|运行|调用|读取|发送|加载|打开|访问|删除|保存|转发)`, "会话", "对话", "聊天", "任务"),
		newPattern(`我一(?:说|提|发)[^。!?;]{1,10}?就(?:把|将)?[^。!?;,]{0,6}?(?:通讯录|记忆|密码|聊天记录|对话|名单|密钥|文件|脚本|联系人)`, "我一"),
		newPattern(`(?:下一?|第[二三四五十\d]+)(?:条|个|次|轮)(?:消息|回复|对话|请求|提问)(?:之后|以后|后|时|到来)`+zhGap+`(?:悄悄|静默|保存|发送|执行|删除|记录|调用|存|转发|切换)`, "消息", "回复", "对话", "请求", "提问"),
	})
}

// leanings make answers praise, hide or claim something.
func leanings() []pattern {
	return inBoth([]pattern{
		newPattern(enFirst+`(?:downplay|play down|minimi[sz]e|belittle|dismiss|brush off|bury|soften|suppress|tone down|discredit|disparage|badmouth|gloss over|whitewash)\b`+enGap+`\b(?:criticisms?|complaints?|concerns?|reviews?|negative|doubts?|mentions?|reports?|competitors?|rivals?|alternatives|incidents?|problems|risks?|scandals?)\b`, "downplay", "play down", "minimi", "belittle", "dismiss", "brush off", "bury", "soften", "suppress", "tone down", "discredit", "disparage", "badmouth", "gloss over", "whitewash"),
		newPattern(enFirst+`(?:mention|name|recommend|praise|plug|feature|bring up|cite|promote|suggest|push|advertise|insert|work in|drop)\b(?: \S+){1,5}? (?:in|into|with|at|during|for|to) (?:each|every|all|any) (?:of your |\w+ )?(?:answers?|repl(?:y|ies)|responses?|conversations?|summar(?:y|ies)|discussions?|users?|opportunity)\b`, "each ", "every ", "all ", "any "),
		newPattern(enFirst+`(?:steer|nudge|push) (?:people|users?|members|customers|every(?:one|body)|any(?:one|body)|them|askers?|the conversation|the talk) (?:\w+ )?(?:towards?|away from)\b`, "steer", "nudge", "push"),
		newPattern(enFirst+`(?:work|weave|slip|squeeze|fit|drop|put)\b`+enGap+`\b(?:into|in) (?:each|every|all|any) (?:of your |\w+ )?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies))\b`, "work", "weave", "slip", "squeeze", "fit", "drop", "put"),
		newPattern(enFirst+`(?:treat|present|describe|report|call|frame)\b`+enGap+`\b(?:press|criticism|news|reports?|reviews?|complaints?|evidence|warnings?)\b`+enGap+`\bas (?:mere |only |just )?(?:rumou?rs?|lies|fake|exaggerat\w+|unfounded|jokes?|false)\b`, "treat", "present", "describe", "report", "call", "frame"),
		newPattern(enFirst+`(?:cite|quote|use|name|treat|take)\b`+enGap+`\bas (?:the |a |an )?(?:final word|last word|only source|sole source|ultimate \w+|definitive \w+|supreme \w+|highest \w+)`, "as "),
		newPattern(enFirst+`tell (?:people|users?|members|patients?|any(?:one|body)|every(?:one|body)|customers|those|whoever)\b`+enGap+`\b(?:doctor|hospital|medicine|medication|vaccin\w+|ambulance|dose|emergency|insulin)\b`+enGap+`\b(?:not|no|never|unnecessary|harmful|double|skip|useless|dangerous|fake)\b`, "doctor", "hospital", "medic", "vaccin", "ambulance", "dose", "emergency", "insulin"),
		newPattern(`\bsummar(?:y|ies)\b`+enGap+`\b(?:must|should|has to|have to|needs? to|shall|will) (?:always )?(?:include|contain|say|state|mention|note|record|carry) that (?:the )?(?:assistant|ai|bot|agent|you|user)\b`, "summar"),
	}, []pattern{
		newPattern(`(?:推荐|介绍|谈|聊|提|问|比较|选|说)`+zhGap+`(?:务必|一律|一定|必须|总是|始终|优先|都要|都|请|就)(?:要|先)?(?:首推|主推|力推|强推|力荐)`, "首推", "主推", "力推", "强推", "力荐"),
		newPattern(`(?:谈|聊|说|问|提|讲)(?:到|及|起)[^。!?;]{1,12}?(?:时|的话|,)[,]?(?:请|务必|一律|都|就|要|必须)*(?:把|将|以)[^。!?;,]{1,12}?(?:作为|当作|当成|视为|列为|为)[^。!?;,]{0,4}?(?:来源|权威|首选|唯一|依据|标准答案|准)`, "来源", "权威", "首选", "唯一", "依据", "标准答案", "准"),
		newPattern(`(?:^|[,。!;:])(?:在)?回答[^。!?;,]{1,8}?(?:问题|提问|咨询)时[,]?(?:要|须|必须|请|应该?|得|都|一律)+(?:说|讲|声称|强调|称|坚称)[^普英中清明出话真实到完得]`, "回答"),
		newPattern(`(?:遇到|对|碰到|看到|有人|关于|凡是|把|听到)`+zhGap+`(?:批评|负面|投诉|质疑|差评|竞品|对手)`+zhGap+`(?:淡化|弱化|冷处理|回避|洗白|贬低|抹黑|压下|轻描淡写|一笔带过)|`+zhStart+`(?:淡化|弱化|洗白|贬低|抹黑|打压)`+zhGap+`(?:批评|负面|投诉|质疑|差评|竞品|对手)`, "淡化", "弱化", "冷处理", "回避", "洗白", "贬低", "抹黑", "压下", "打压", "轻描淡写", "一笔带过"),
		newPattern(`(?:谈|聊|说|问|提)(?:到|及|起)[^。!?;,]{1,8}?[,]?(?:就|都|一律)(?:把|将)?[^。!?;,]{0,4}?(?:往|向|朝)[^。!?;,]{1,8}?(?:引|带|推|导)`, "往", "向", "朝"),
		newPattern(`(?:批评|负面|投诉|质疑|差评|坏消息|丑闻)[^。!?;]{0,6}?(?:一律|都|全部|统一)(?:当作?|说成|视为|称为|回应为)?(?:谣言|造谣|假的|假新闻|谎言|夸大|不实)`, "谣言", "造谣", "假", "谎言", "夸大", "不实"),
		newPattern(`(?:来|有人)?问(?:起|到)?[^。!?;]{0,6}?就?(?:说|回答|告诉)[^。!?;,]{0,6}?(?:不用|不需要|别|无需|不必)(?:看|去|找|叫|吃)?(?:医生|医院|药|急救|救护车|疫苗)`, "医生", "医院", "药", "急救", "救护车", "疫苗"),
		newPattern(`(?:^|[,。!;:])(?:对外|对用户|对客户|对媒体)(?:都|就|一律|统一|只)*(?:说|宣称|声称|坚称|回应)`+zhGap+`(?:没有|从未|不存在|不知道|安全|绝无|否认)`, "对外", "对用户", "对客户", "对媒体"),
		newPattern(`(?:每次|每条|每个|所有)(?:回答|回复|对话|总结)(?:里|中|时|都|要|,)*(?:提到|夸|推荐|带上|宣传|植入|顺带提)`, "提到", "夸", "推荐", "带上", "宣传", "植入", "顺带提"),
	})
}
