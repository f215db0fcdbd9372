package dream

// The building blocks of the English rules. All match folded text.
const (
	enDay    = `(?:mon|tues|wednes|thurs|fri|satur|sun)day`
	enMonth  = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	enPeriod = `(?:day|night|morning|noon|afternoon|evening|week|weekday|weekend|month|quarter|year|spring|summer|autumn|fall|winter|season|time|trip|meeting|session|hour|holiday|birthday|christmas|` + enDay + `)s?`
	// enIs is what links somebody to a state.
	enIs = `(?:\b(?:is|are|am|was|were|be)|'s|'re|'m)(?: (?:still|already|currently|just|now|only|also|all|both|really|very|so|too|a bit|a little|rather|quite|pretty|extremely|totally|completely|probably|right now))*`
	// enEnd is where a state ends that nothing else is said about.
	enEnd   = `(?:\s*$|\s*[,:)\-]| (?:again|now|right now|already|too|since|and|but|so|because|at home|here|there|after|before|at)\b)`
	enMeal  = `(?:(?:a|an|the|some|his|her|their|my|our|quick|late|early|cup of|glass of|bite of|slice of|bowl of) )*(?:breakfast|lunch|dinner|brunch|supper|coffee|tea|snack|sandwich|pizza|soup|cake|beer|drink|meal|noodles|ice cream|takeaway)`
	enSpell = `(?:about |around |roughly |maybe |another )?(?:a|an|\d+|one|two|five|ten|fifteen|twenty|thirty|half an?|a few|a couple of)[ -]?(?:seconds?|secs?|moment|minutes?|mins?|min|hours?|bit|while|sec)\b`
)

// englishHabits are words that make what a sentence says last.
const englishHabits = `\b(?:always|usually|often|regularly|generally|typically|normally|frequently|sometimes|occasionally|seldom|rarely|never|habitually|constantly|whenever|mostly|tends? to|used to|` +
	`daily|weekly|monthly|yearly|as a rule|by default|by habit|prone to|chronic(?:ally)?|again and again|over and over|all the time|at all times|most ` + enPeriod + `|on (?:` + enDay + `|weekend|weekday)s|in the (?:mornings?|afternoons?|evenings?)|at nights?|` +
	`\w+ times (?:a|per)|once (?:a|per)|twice (?:a|per)|(?:every|each) (?:other |single |second |third |few |\d+ |two |three |first |last )*` + enPeriod + `|everyday|keeps (?:being|getting|having|coming)|no longer|for (?:many )?years)\b`

// englishConditions are words that make a state what happens under a condition, or
// what somebody thinks of it.
const englishConditions = `\b(?:when|if|unless|hates?|loves?|likes?|dislikes?|enjoys?|prefers?|avoids?|fears?|afraid|worr(?:y|ies)|complains?|people who|whoever|anyone|anybody|those who|who(?:'s| is| are)|gets?|allergic|being|policy|rules?|in case)\b`

// englishDates say which day is meant.
const englishDates = `\b\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?\b|\b` + enMonth + ` \d{1,4}(?:st|nd|rd|th)?\b|\b\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?` + enMonth + `(?:\W|$)`

// englishChange speaks of a day from which, or up to which, something lasts, and of
// days that are not told from today's.
const englishChange = `\b(?:from|as of|starting|beginning|effective|with effect from|until|till|up to|even|to) (?:today|this (?:day|week))\b(?: on(?:wards?)?\b)?|\b(?:from|as of|starting|beginning|effective|with effect from) (?:on )?(?:tomorrow|next week|next ` + enDay + `|this week)\b(?: on(?:wards?)?\b)?|` +
	`\bstill\b[^,]* today\b|\b(?:put|puts|putting|leave|leaves|save|saves) (?:\S+ ){0,4}(?:until|till|for|to) tomorrow\b|\btoday's (?:world|society|youth|young|music|kids|children|standards|age|technology|media|films|movies|internet|politics|generation)\b|\b(?:world|children|youth|people|music|kids) of today\b|` +
	`\bthe (?:very )?(?:next|last|following|previous) (?:few )?(?:week|weekend|` + enDay + `)\b|\b(?:next|last) ` + enDay + ` (?:of|in)\b|\b(?:better|brighter) tomorrow\b|\bno tomorrow\b`

// englishRelative are times that are told from the day of writing.
const englishRelative = `\b(?:the day after tomorrow|the day before yesterday|today|tonight|tonite|tomorrow|tmrw|yesterday|this (?:morning|noon|afternoon|evening|week|weekend|coming weekend|` + enDay + `|coming ` + enDay + `)|(?:next|last|coming) (?:week|weekend|` + enDay + `)|last (?:night|evening)|just now|a moment ago|` +
	`(?:\d+|an?|one|two|three|four|five|six|ten|twenty|half an|a few|a couple of|several) (?:minutes?|mins?|hours?|days?|nights?) ago|the other (?:day|night)|in the next few (?:minutes|hours|days)|any (?:minute|moment) now|earlier this day|later this day)\b`

// englishMoments are the ways of speaking of a passing moment.
func englishMoments() []passing {
	late := once(englishConditions, `\blate (?:with|on|for (?:everything|payments?)|fees?|shifts?|nights?|autumn|summer|spring|winter|in (?:life|pregnancy|`+enMonth+`)|19|20|\d|`+enMonth+`|paying|repaying)`)()
	depends := once(englishConditions)()
	var list []passing
	add := func(expr string) { list = append(list, passing{once(expr)(), depends}) }
	list = append(list, passing{once(`(?:\b(?:will|might|may|could|is going to|are going to|gonna|probably)|'ll) (?:probably |likely |also )?(?:be|come|arrive|join|show up|get (?:there|here|home)) (?:\S+ ){0,3}?(?:late|later|delayed)\b|\brunning (?:\S+ ){0,3}?late\b|` +
		enIs + ` (?:` + enSpell + ` )?late(?: (?:for|to) (?:the |a |an |our |his |her |their )?\w+)?` + enEnd + `|\b(?:came|arrived|showed up|turned up) (?:\S+ ){0,3}?late(?: (?:for|to) (?:the |a |an |our |his |her |their )?\w+)?` + enEnd)(), late})
	add(`\b(?:stuck|sitting|caught|held up|trapped) (?:in|by|at|on) (?:\S+ ){0,2}?(?:traffic|jam|rain|queue|line|meeting|call|lift|elevator|office|work|bus|train)\b`)
	add(`\b(?:has|have|had|got|having|with|caught|feels?|feeling) (?:(?:a|an|some|bad|slight|terrible|mild|nasty|little|splitting|bit of a|high|\d+) )+(?:headache|cold|fever|flu|stomach ?ache|tummy ache|sore throat|toothache|hangover|cough|runny nose|migraine|backache|temperature)` + enEnd + `|\b(?:has|have|had|got|caught|with) (?:the )?flu` + enEnd)
	add(`\b(?:feels?|feeling|` + enIs + `) (?:sick|unwell|under the weather|nauseous|dizzy|feverish|tired|exhausted|sleepy|hungry|starving|thirsty|hungover|jet-?lagged|bored|worn out|in a (?:bad|good|great|foul) mood|in a (?:hurry|rush)|out of breath|freezing|sweating|busy)` + enEnd + `|\b(?:home|off|called in|calling in) sick` + enEnd + `|\bnot feel(?:ing)? (?:too |very |so )?(?:well|good|great)\b|\b(?:doesn't|didn't|isn't) feel(?:ing)? (?:too |very |so )?(?:well|good)\b|\blost (?:his|her|their) voice\b|\btoo (?:tired|sick|sleepy|hungry|drunk|hungover) to\b`)
	add(enIs + ` (?:at|in) (?:the|a|his|her|their) (?:airport|station|supermarket|gym|dentist|doctor|hairdresser|hospital|bakery|shop|store|pharmacy|bar|cinema|restaurant|checkout|bus stop|car|lift|office)(?:'s)? (?:now|at the moment)\b|` + enIs + ` at the (?:dentist|doctor|hairdresser|checkout|bus stop)(?:'s)?` + enEnd)
	add(enIs + ` on (?:the|a|an|her|his|their|my|our) (?:train|bus|plane|tram|metro|subway|underground|tube|ferry|toilet|platform|phone with|s-bahn)\b`)
	add(enIs + ` on (?:her|his|their|my|our) way(?: home| back| here| there| over| now| to (?:work|the \w+|school|\w+))?` + enEnd + `|\ben route` + enEnd)
	list = append(list, passing{once(enIs + ` on the way(?: home| back| here| there| over| now)?` + enEnd)(), once(englishConditions, `\b(?:baby|child|twins?|kids?)\b`)()})
	add(enIs + ` (?:in|taking|having) (?:the|a|an|his|her|their) (?:shower|bath|bathroom|queue|taxi|cab|uber|nap|meeting|call|break)` + enEnd + `|` + enIs + ` (?:in bed|in line|out (?:for (?:lunch|dinner|a walk|a run)|shopping|running|walking the dog)|away from (?:the )?keyboard|afk|asleep|sleeping|napping|showering|driving|parking|boarding|commuting|eating|packing|queuing|shopping|awake|offline|online|outside|downstairs)` + enEnd)
	add(enIs + ` (?:having|eating|making|cooking|preparing|getting|grabbing|ordering|drinking|finishing) ` + enMeal + `\b`)
	add(`\bright now\b`)
	list[len(list)-1].but = once(englishConditions, enIs+` (?:learning|studying|saving|writing|training|building|renovating|planning|reading|looking for|living|between|working|single|pregnant|organi[sz]ing|expecting|unemployed|vegan|vegetarian)\b|\b(?:lives|works|studies|owns?|owes?)\b`)()
	list = append(list, passing{once(`\b(?:will|'ll|going to|should|would|could|can) (?:be (?:right )?(?:there|back|here|home)|arrive|leave|join|call(?: \w+)?|come|start|get (?:there|here|home|back)) (?:soon|shortly|later|in a (?:bit|minute|moment|sec|while)|in ` + enSpell + `|any (?:minute|moment)|at (?:half past |quarter \w+ )?\d)|` +
		`\b(?:arriv|leav|com|start|begin|head|gett|land|board|clos|open|be|bac|hom|ther|her|return)\w* (?:\w+ )?in (?:` + enSpell + `|a (?:bit|minute|moment|sec|while))`)(), once(englishConditions, englishDates, `\bthan usual\b`)()})
	add(`\bjust (?:left (?:home|the (?:house|office|building|party|station)|work)|arrived(?: at| home|` + enEnd + `)|woke up|got (?:home|up|in|off|here|there|out of)|landed|boarded|(?:finished|ate|had|ordered) ` + enMeal + `|finished work|went (?:out|to bed|home)|missed|sat down|parked)`)
	add(enIs + ` (?:parking (?:the|a|her|his|their) |queu(?:e)?ing (?:for|at|up|in)|looking for (?:a |some )?(?:parking|a seat|a table|(?:his|her|their) (?:keys?|phone|glasses|wallet))|watching (?:a|the|some) (?:film|movie|game|match|news|show|concert)|walking (?:home|the dog|to the)|driving (?:home|to|back)|boarding (?:the|a)|taking (?:a|the) (?:bus|train|taxi|walk|break|call)|changing trains|checking (?:in|out)|picking up the (?:kids?|children)|doing the dishes|getting off)\b`)
	add(enIs + ` waiting (?:for (?:the|a|her|his|their) (?:bus|train|taxi|tram|cab|doctor|lift|elevator|delivery|courier|table|food|order|ride|uber|plane|flight)|outside|in line|downstairs|at the)\b`)
	add(enIs + ` (?:about to (?:leave(?:` + enEnd + `| home| (?:the|his|her|their) (?:house|office|party|building|flat)| work| for (?:the|work))|go (?:to bed|out|in|home|into)|eat|board|sleep|call|order|head|take off|land|hang up|shower|drive|start (?:the|a|cooking|eating)|have ` + enMeal + `|enter|log off)|going (?:to (?:bed|sleep)|(?:home|out)` + enEnd + `)|heading (?:home|out|over|back|to)|leaving(?: now| soon| for the (?:airport|station|meeting|office)| the house| the office| home|` + enEnd + `)|off to (?:bed|work|the)|getting dressed|(?:asleep|sleeping) (?:on|in) (?:the|a|his|her|their) (?:sofa|couch|train|bus|car|chair))\b`)
	add(`\b(?:phone|battery|laptop)(?:'s battery)? (?:is |has )?(?:about to die|dying|dead|almost (?:dead|empty)|nearly (?:dead|empty)|running out|low|at \d+ ?%)`)
	add(`\b(?:it is|it's|it was|is it) (?:still |now |already |really |so )?(?:raining|snowing|pouring|hailing|storming|freezing|foggy|sunny|cloudy|windy|boiling)\b`)
	add(`\b(?:overslept|slept (?:badly|in)|did(?:n't| not) sleep (?:well|much|at all)|missed (?:the|her|his|their) (?:\w+ )?(?:bus|train|tram|flight|alarm|connection|stop|ferry))\b|\b(?:has gone|have gone|went) to (?:bed|sleep)\b|\b(?:has|have|had)(?:n't| not) (?:eaten|slept|had (?:breakfast|lunch|dinner)|showered)\b`)
	add(`\b(?:train|bus|tram|flight|plane|ferry|metro|subway|taxi|delivery|parcel)(?: \w+)? (?:is|was|has been) (?:\S+ )?(?:delayed|late|cancelled|canceled|stuck|running late|on (?:its|the) way)\b`)
	list = append(list, passing{once(`\b(?:can't|cannot|can not|won't|will not|unable to|not able to|couldn't|could not) (?:make it|be there|talk|answer)(?: (?:to|for) (?:the |our )?(?:meeting|call|dinner|lunch|class|game|practice|training|session|party|rehearsal))?` + enEnd)(), once(englishConditions, englishDates)()})
	add(`\b(?:has|have|needs?|had) to (?:go|run|leave|hang up|rush|dash)(?: (?:now|soon|early|right away|again))?` + enEnd + `|\b(?:brb|ttyl|be right back|back in \d+)\b`)
	return list
}
