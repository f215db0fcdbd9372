package dream

// The building blocks of the English rules. All match folded text.
const (
	enDay    = `(?:mon|tues|wednes|thurs|fri|satur|sun)day`
	enMonth  = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	enPeriod = `(?:day|night|morning|noon|afternoon|evening|week|weekday|weekend|month|quarter|year|spring|summer|autumn|fall|winter|season|time|trip|meeting|session|hour|holiday|birthday|christmas|` + enDay + `)s?`
	// enIs is what links somebody to a state.
	enIs = `(?:\b(?:is|are|am|was|were|be)|'s|'re|'m)(?: (?:still|already|currently|just|now|only|also|all|both|really|very|so|too|a bit|a little|rather|quite|pretty|extremely|dead|super|absolutely|terribly|utterly|completely|totally|completely|probably|right now))*`
	// enEnd is where a state ends that nothing else is said about.
	enEnd   = `(?:\s*$|\s*[,:)]|\s+-| (?:again|now|right now|already|too|since|and|but|so|because|at home|here|there|after|before|at)\b)`
	enMeal  = `(?:(?:a|an|the|some|his|her|their|my|our|quick|late|early|cup of|glass of|bite of|slice of|bowl of) )*(?:breakfast|lunch|dinner|brunch|supper|coffee|tea|snack|sandwich|pizza|soup|cake|beer|drink|meal|noodles|ice cream|takeaway)`
	enNum   = `(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety)(?:-five)?`
	enSpell = `(?:about |around |roughly |maybe |another |at least )?(?:a|an|` + enNum + `|half an?|a few|a couple of|a quarter of an|three quarters of an)(?: more)?[ -]?(?:seconds?|secs?|moment|minutes?|mins?|min|hours?|bit|while|sec)\b`
	// enClock is a time of day.
	enClock = `(?:about |around |exactly )?(?:\d{1,2}[:.]\d\d(?: ?[ap]\.?m\b\.?)?|\d{1,2}(?: ?[ap]\.?m\b\.?| o'clock)?|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: o'clock| thirty|-thirty)?|noon|midnight|midday|(?:half|quarter) (?:past|to) \w+)(?:\s*$|[,:;)]| (?:and|but|so|because|in|at|for|with|to|sharp|tonight)\b)`
	// enDate is something that one goes to at a time of day.
	enDate = `(?:meeting|call|appointment|interview|exam|test|flight|train|bus|lesson|viewing|haircut|reservation|date|presentation|demo|deadline|rehearsal|check-?up|delivery|pickup|massage|dentist|doctor|doctor's|table)`
	// enPlace is where people are for an hour.
	enPlace = `(?:airport|(?:bus |train |petrol |gas |police |metro )?station|supermarket|gym|dentist|doctor|hairdresser|barber|vet|hospital|bakery|shop|store|mall|market|pharmacy|bar|pub|cinema|theatre|restaurant|café|cafe|checkout|bus stop|car park|car wash|office|pool|beach|park|playground|library|bank|post office|garage|gate|border|bathroom|toilet|laundromat|stadium|embassy|emergency room|waiting room)(?:'s)?`
	// enObject is what people carry, forget and look for.
	enObject = `(?:keys?|phone|wallet|purse|umbrella|charger|badge|glasses|ticket|passport|laptop|headphones|jacket|gloves|lunch|bag)`
	// enThing is a subject that is nobody, and stays where it is.
	enThing = `^\s*(?:the|a|an|this|that|its|our|their|his|her|my|every\w*|\w+'s) `
)

// englishHabits are words that make what a sentence says last.
const englishHabits = `\b(?:always|usually|often|regularly|generally|typically|normally|frequently|sometimes|occasionally|seldom|rarely|never|habitually|constantly|whenever|mostly|tends? to|used to|` +
	`daily|weekly|monthly|yearly|as a rule|by default|by habit|prone to|chronic(?:ally)?|again and again|over and over|all the time|at all times|most ` + enPeriod + `|on (?:` + enDay + `|weekend|weekday)s|in the (?:mornings?|afternoons?|evenings?)|at nights?|` +
	`\w+ times (?:a|per)|once (?:a|per)|twice (?:a|per)|(?:every|each) (?:other |single |second |third |few |\d+ |two |three |first |last )*` + enPeriod + `|everyday|keeps (?:being|getting|having|coming)|no longer|for (?:many )?years|since (?:childhood|birth|\d{4}))\b`

// englishConditions are words that make a state what happens under a condition, or
// what somebody thinks of it.
const englishConditions = `\b(?:when|if|unless|hates?|loves?|likes?|dislikes?|enjoys?|prefers?|avoids?|fears?|afraid|worr(?:y|ies)|complains?|people who|whoever|anyone|anybody|those who|who(?:'s| is| are)|gets?|allergic|being|policy|rules?|in case)\b`

// englishDates say which day is meant.
const englishDates = `\b(?:in|since|of|until) (?:19|20)\d\d\b|\b\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?\b|\b` + enMonth + ` \d{1,4}(?:st|nd|rd|th)?\b|\b\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?` + enMonth + `(?:\W|$)`

// englishChange speaks of a day from which, or up to which, something lasts, and of
// days that are not told from today's.
const englishChange = `\b(?:from|as of|starting|beginning|effective|with effect from|until|till|up to|even|to) (?:today|this (?:day|week))\b(?: on(?:wards?)?\b)?|\b(?:from|as of|starting|beginning|effective|with effect from) (?:on )?(?:tomorrow|next week|next ` + enDay + `|this week)\b(?: on(?:wards?)?\b)?|` +
	`\bstill\b[^,]* today\b|\b(?:put|puts|putting|leave|leaves|save|saves) (?:\S+ ){0,4}(?:until|till|for|to) tomorrow\b|\btoday's (?:world|society|youth|young|music|kids|children|standards|age|technology|media|films|movies|internet|politics|generation)\b|\b(?:world|children|youth|people|music|kids) of today\b|` +
	`\bthe (?:very )?(?:next|last|following|previous) (?:few )?(?:week|weekend|` + enDay + `)\b|\b(?:next|last) ` + enDay + ` (?:of|in)\b|\bowe[sd]?\b[^,]*\b(?:last|this) (?:week|weekend|night|evening|` + enDay + `)'s\b|\bowe[sd]?\b[^,]*\b(?:yesterday|today)'s\b|\b(?:better|brighter) tomorrow\b|\bno tomorrow\b`

// englishRelative are times that are told from the day of writing.
const englishRelative = `\b(?:the day after tomorrow|the day before yesterday|today|tonight|tonite|tomorrow|tmrw|yesterday|this (?:morning|noon|afternoon|evening|week|weekend|coming weekend|` + enDay + `|coming ` + enDay + `)|(?:next|last|coming) (?:week|weekend|` + enDay + `)|last (?:night|evening)|just now|a moment ago|` +
	`(?:\d+|an?|one|two|three|four|five|six|ten|twenty|half an|a few|a couple of|several) (?:minutes?|mins?|hours?|days?|nights?) ago|the other (?:day|night)|in the next few (?:minutes|hours|days)|any (?:minute|moment) now|earlier this day|later this day)\b`

// englishMoments are the ways of speaking of a passing moment.
func englishMoments() []passing {
	late := once(englishConditions, `\blate (?:with|on|for (?:everything|payments?)|fees?|shifts?|nights?|autumn|summer|spring|winter|in (?:life|pregnancy|`+enMonth+`)|19|20|\d|`+enMonth+`|paying|repaying)`)()
	depends := once(englishConditions)()
	var list []passing
	add := func(expr string) { list = append(list, passing{once(expr)(), depends}) }
	list = append(list, passing{once(`(?:\b(?:will|might|may|could|is going to|are going to|gonna|probably)|'ll) (?:probably |likely |also )?(?:be|come|arrive|join|show up|get (?:there|here|home)) (?:\S+ ){0,3}?(?:late|later|delayed)\b|\brunning (?:\S+ ){0,4}?(?:late|behind)\b|` +
		enIs + ` (?:` + enSpell + ` )?late(?: (?:for|to) (?:the |a |an |our |his |her |their )?\w+)?` + enEnd + `|\b(?:came|arrived|showed up|turned up) (?:\S+ ){0,3}?late(?: (?:for|to) (?:the |a |an |our |his |her |their )?\w+)?` + enEnd)(), late})
	list = append(list, passing{once(`\b(?:stuck|sitting|caught|held up|trapped) (?:in|by|at|on) (?:\S+ ){0,2}?(?:traffic|jam|rain|queue|line|meeting|call|lift|elevator|office|work|bus|train)\b`)(), once(englishConditions, englishDates)()})
	add(`\b(?:has|have|had|got|having|with|caught|feels?|feeling) (?:(?:a|an|some|bad|slight|terrible|mild|nasty|little|splitting|bit of a|high|\d+) )+(?:headache|cold|fever|flu|stomach ?ache|tummy ache|sore throat|toothache|hangover|cough|runny nose|migraine|backache|temperature)(?: of \S+)?` + enEnd + `|\b(?:has|have|had|got|caught|with) (?:the )?flu` + enEnd)
	add(`\b(?:feels?|feeling|` + enIs + `) (?:sick|unwell|under the weather|nauseous|dizzy|feverish|tired|exhausted|sleepy|hungry|starving|thirsty|hungover|jet-?lagged|bored|worn out|in a (?:bad|good|great|foul) mood|in a (?:hurry|rush)|out of breath|freezing|sweating|busy)` + enEnd + `|\b(?:home|off|called in|calling in) sick` + enEnd + `|\bnot feel(?:ing)? (?:too |very |so )?(?:well|good|great)\b|\b(?:doesn't|didn't|isn't) feel(?:ing)? (?:too |very |so )?(?:well|good)\b|\blost (?:his|her|their) voice\b|\btoo (?:full|tired|sick|sleepy|hungry|drunk|hungover) to\b`)
	add(enIs + ` (?:at|in) (?:the|a|his|her|their) (?:airport|station|supermarket|gym|dentist|doctor|hairdresser|hospital|bakery|shop|store|pharmacy|bar|cinema|restaurant|checkout|bus stop|car|lift|office)(?:'s)? (?:now|at the moment)\b|` + enIs + ` at the (?:dentist|doctor|hairdresser|checkout|bus stop)(?:'s)?` + enEnd)
	add(enIs + ` on (?:the|a|an|her|his|their|my|our) (?:\w+ )?(?:train|bus|plane|tram|metro|subway|underground|tube|ferry|boat|toilet|platform|phone|motorway|highway|s-bahn|break|call|run|walk|hike|date)(?:` + enEnd + `| (?:to|from|home|back|with|without|in|near|between|towards?|heading|until|till)\b)|` + enIs + ` on (?:hold|lunch|break)` + enEnd)
	add(enIs + ` on (?:her|his|their|my|our) way(?: home| back| here| there| over| now| to (?:work|the \w+|school|\w+))?` + enEnd + `|\ben route` + enEnd)
	list = append(list, passing{once(enIs + ` on the way(?: home| back| here| there| over| now)?` + enEnd)(), once(englishConditions, `\b(?:baby|child|twins?|kids?)\b`)()})
	add(enIs + ` (?:in|taking|having) (?:the|a|an|his|her|their) (?:shower|bath|bathroom|queue|taxi|cab|uber|nap|meeting|call|break)` + enEnd + `|` + enIs + ` (?:in bed|in line|out (?:for (?:lunch|dinner|a walk|a run)|shopping|running|walking the dog)|away from (?:the )?keyboard|afk|asleep|sleeping|napping|showering|driving|parking|boarding|commuting|eating|packing|queuing|shopping|awake|offline|online|outside|downstairs)` + enEnd)
	add(enIs + ` (?:having|eating|making|cooking|preparing|getting|grabbing|ordering|drinking|finishing) ` + enMeal + `\b`)
	add(`\b(?:right now|at the moment|at this (?:very )?moment|as we speak|this (?:very )?(?:minute|second|instant))\b`)
	list[len(list)-1].but = once(englishConditions, enIs+` (?:learning|studying|saving|writing|training|building|renovating|planning|reading|looking for|living|between|working|single|pregnant|organi[sz]ing|expecting|unemployed|vegan|vegetarian|recovering|renting|sharing|teaching|researching|developing|doing (?:a|an|his|her|their))\b|\b(?:lives|works|studies|owns?|owes?|wants?|has no|rents?|costs?|teaches|runs|plays)\b`)()
	list = append(list, passing{once(`\b(?:will|'ll|going to|should|would|could|can) (?:be (?:right )?(?:there|back|here|home)|arrive|leave|join|call(?: \w+)?|come|start|get (?:there|here|home|back)) (?:soon|shortly|later|in a (?:bit|minute|moment|sec|while)|in ` + enSpell + `|any (?:minute|moment)|at ` + enClock + `)|` +
		`\b(?:arriv|leav|com|start|begin|head|gett|land|board|clos|open|be|bac|hom|ther|her|return|ready|over|done|free|call)\w* (?:\w+ )?in (?:` + enSpell + `|a (?:bit|minute|moment|sec|while))`)(), once(englishConditions, englishDates, `\bthan usual\b`)()})
	add(`\bjust (?:left (?:home|the (?:house|office|building|party|station)|work)|arrived(?: at| home|` + enEnd + `)|woke up|got (?:home|up|in|off|here|there|out of)|landed|boarded|(?:finished|ate|had|ordered) ` + enMeal + `|finished work|went (?:out|to bed|home)|missed|sat down|parked)`)
	add(enIs + ` (?:parking (?:the|a|her|his|their) |queu(?:e)?ing (?:for|at|up|in)|looking for (?:a |some )?(?:parking|a seat|a table|(?:his|her|their) (?:keys?|phone|glasses|wallet))|watching (?:a|the|some) (?:film|movie|game|match|news|show|concert)|walking (?:home|the dog|to the)|driving (?:home|to|back)|boarding (?:the|a)|taking (?:a|the) (?:bus|train|taxi|walk|break|call)|changing trains|checking (?:in|out)|picking up the (?:kids?|children)|doing the dishes|getting off)\b`)
	add(enIs + ` waiting (?:for (?:the|a|her|his|their) (?:bus|train|taxi|tram|cab|doctor|lift|elevator|delivery|courier|table|food|order|ride|uber|plane|flight|luggage|suitcase|coffee|pizza|parcel|package|technician|plumber|electrician|locksmith|ambulance|tow truck)|outside|in line|downstairs|at the)\b`)
	add(enIs + ` (?:about to (?:leave(?:` + enEnd + `| home| (?:the|his|her|their) (?:house|office|party|building|flat)| work| for (?:the|work))|go (?:to bed|out|in|home|into)|eat|board|sleep|call|order|head|take off|land|hang up|shower|drive|start (?:the|a|cooking|eating|(?:his|her|their) (?:shift|run|shower|lunch|workout))|have ` + enMeal + `|enter|log off)|going (?:to (?:bed|sleep)|(?:home|out)` + enEnd + `)|heading (?:home|out|over|back|to)|leaving(?: now| soon| for the (?:airport|station|meeting|office)| the house| the office| home|` + enEnd + `)|off to (?:bed|work|the)|getting dressed|(?:asleep|sleeping) (?:on|in) (?:the|a|his|her|their) (?:sofa|couch|train|bus|car|chair))\b`)
	add(`\b(?:phone|battery|laptop)(?:'s battery)? (?:is |has )?(?:about to die|dying|dead|almost (?:dead|empty)|nearly (?:dead|empty)|running out|low|(?:at|on|down to) \w+ ?(?:%|percent|per cent))`)
	add(`\b(?:it is|it's|it was|is it) (?:still |now |already |really |so )?(?:raining|snowing|pouring|hailing|storming|freezing|foggy|sunny|cloudy|windy|boiling)\b`)
	add(`\b(?:overslept|slept (?:badly|in)|did(?:n't| not) sleep (?:well|much|at all)|missed (?:the|her|his|their) (?:\w+ )?(?:bus|train|tram|flight|alarm|connection|stop|ferry))\b|\b(?:has gone|have gone|went) to (?:bed|sleep)\b|\b(?:has|have|had)(?:n't| not) (?:eaten|slept|had (?:breakfast|lunch|dinner)|showered)\b`)
	add(`\b(?:train|bus|tram|flight|plane|ferry|metro|subway|taxi|delivery|parcel)(?: \w+)? (?:is|was|has been) (?:\S+ )?(?:delayed|late|cancelled|canceled|stuck|running late|on (?:its|the) way)\b`)
	list = append(list, passing{once(`\b(?:can't|cannot|can not|won't|will not|unable to|not able to|couldn't|could not) (?:make it|be there|talk|answer)(?: (?:to|for) (?:the |our )?(?:meeting|call|dinner|lunch|class|game|practice|training|session|party|rehearsal))?` + enEnd)(), once(englishConditions, englishDates)()})
	add(`\b(?:has|have|needs?|had) to (?:go|run|leave|hang up|rush|dash)(?: (?:now|soon|early|right away|again))?` + enEnd + `|\b(?:brb|ttyl|be right back|back in \d+)\b`)
	list = append(list, englishHours()...)
	return append(list, englishMishaps()...)
}

// englishHours are ways of speaking of what an hour of an unnamed day brings.
func englishHours() []passing {
	standing := once(englishConditions, englishDates, enIs+` open\b`, `\b(?:group|team|class|choir|club|band|shop|library|school|stand-?up|shift|curfew|quiet hours|check-?(?:in|out)|`+enDay+`s?)\b`)()
	person := once(englishConditions, englishDates, enThing)()
	return []passing{
		{once(`\b(?:has|have|had|got|with|there is|there's) (?:an?|the|another|his|her|their) (?:\S+ ){0,3}?` + enDate + ` (?:\S+ ){0,4}?(?:at ` + enClock + `|in ` + enSpell + `|from ` + enClock + `)`)(), standing},
		{once(`(?:` + enIs + ` \w+ing\b|\b(?:will|'ll|has to|have to|needs? to|wants? to|gonna)\b|\bflight\b|\btrain\b)[^,]* (?:at|by|before|around) ` + enClock)(), standing},
		{once(enIs + ` [^,]*\b(?:until|till|til) (?:` + enClock + `|` + enDay + enEnd + `|later|this (?:afternoon|evening)|after (?:lunch|dinner|work))`)(), once(englishConditions, englishDates, enIs+` (?:open|valid|guaranteed)\b`)()},
		{once(enIs + ` (?:out of (?:the )?office|at (?:home|work|lunch|dinner|customs|security|practice|training)|(?:at|in|outside) (?:the|a|an|his|her|their) ` + enPlace + `|away from (?:(?:his|her|their|the) )?(?:desk|computer|keyboard|phone)|locked out(?: of \S+ \S+)?|in the middle of (?:a|an|the|his|her) \w+|on hold)(?:` + enEnd + `| with\b)|` + `\bon hold with\b`)(), person},
		{once(enIs + ` (?:` + enSpell + ` (?:away|early)|(?:sitting|standing|lying) (?:in|on|at|outside|by|under|next))` + `\b`)(), person},
		{once(enIs + ` (?:(?:resting|cooking|baking|charging|rebooting|restarting|crying|shivering|sneezing|coughing|yawning|sweating|dancing|jogging|waiting|texting|unpacking|bathing|cleaning|vacuuming|ironing|dozing|snoring|limping|swearing)(?:` + enEnd + `| (?:a lot|badly|loudly|like|on the|in the)\b)` +
			`|(?:washing|drying|brushing|shaving|cleaning|mowing|feeding|watering|bathing|hanging|folding|doing|taking out|making|setting|clearing) (?:up |out )?(?:the |a |his |her |their |some )?(?:dishes|car|clothes|hair|teeth|lawn|cats?|dogs?|baby|plants|laundry|washing|shopping|table|bins?|trash|rubbish|beds?|kitchen|bathroom|floor)` + enEnd +
			`|(?:running errands|warming up|cooling down|taking (?:the|his|her|their) (?:kids?|children|dogs?|cats?|baby|car|bike) (?:to|out)|getting (?:on|off|into|out of) (?:the|a|his|her)|writing (?:a|his|her) (?:text|message|note|shopping list)|halfway (?:up|down|home|there|to|through)|having (?:a|the) (?:really |very )?(?:bad|good|rough|great|long|terrible|hard|awful|lazy|stressful) (?:day|night|morning|evening|afternoon|week|time)|grabbing|fetching|hurrying|rushing|stepping (?:out|into|away|off)|running (?:to|for|after) (?:catch|the)|loading|unloading|wrapping|frying|grilling|boiling|chopping|peeling|reheating|nursing a (?:hangover|cold)|packing (?:up|his|her|their|the|a|for)|changing (?:a (?:tyre|tire|nappy|diaper)|(?:his |her |their )?(?:clothes|shoes))|getting (?:his|her|their) \S+ (?:cut|done|dyed|checked|fixed)|having (?:trouble|problems|issues|difficulties) (?:with (?:his|her|their|the) (?:\w+ )?(?:mic|microphone|camera|connection|audio|sound|internet|wi-?fi|headset)|hearing|connecting|logging))\b|(?:picking|dropping) (?:\S+ ){1,4}?(?:up|off)\b|picking up (?:a|the|some|his|her|their) |putting (?:\S+ ){1,3}to bed|getting (?:ready|a (?:haircut|coffee|massage|taxi|cab|ride|lift|refill|drink))|trying to (?:sleep|park|find (?:a|his|her|their)|get (?:home|a taxi|a cab|some sleep|through))|looking for (?:his|her|their|the) (?:\w+ )?` + enObject + `|catching (?:a|the|his|her) |watching tv|(?:free|busy|available|unavailable|back|home|out|away) (?:after|before|from|around|at|by) ` + enClock + `|out of (?:milk|bread|eggs|coffee|sugar|butter|toilet paper|cash|change|battery|ink|petrol|gas|town)` + enEnd + `|on (?:his|her|their) (?:first|second|third|fourth|fifth|sixth) ` + enMeal + `|(?:in|out of) the (?:oven|microwave|washing machine|dryer|dishwasher)|(?:soaked|drenched|freezing|starving|exhausted|shivering|sweaty) (?:from|after|in|on|to)\b)|\b(?:has|have) been (?:\S+ ){1,5}?for (?:` + enSpell + `|hours|ages)`)(), once(englishConditions, englishDates)()},
		{once(`\b(?:will|'ll|going to) (?:\S+ ){1,6}?later\s*$|\bfor (?:another |the next )` + enSpell)(), once(englishConditions, englishDates, `\b(?:pay|return|owes?|give|refund)\b`)()},
		{once(`\b(?:has|have|needs?|had) to (?:catch|grab|get) (?:a|the|his|her|their|some) (?:\w+ )?(?:bus|train|flight|plane|tram|ferry|taxi|coffee|sleep|food)\b|\bneeds? (?:a (?:ride|lift|nap|coffee|minute|moment|sec|drink|quick)|to (?:sleep|lie down|rest|sit down|eat something)|` + enSpell + `)(?:` + enEnd + `| (?:home|from|to)\b)|\b(?:has|have|taking|takes|took|got) (?:the|a|this) (?:(?:sick|rest|whole) )?(?:day|afternoon|morning) off` + enEnd)(), once(englishConditions, englishDates)()},
	}
}

// englishMishaps are small accidents, and what breaks down for an hour or a day.
func englishMishaps() []passing {
	depends := once(englishConditions, englishDates)()
	person := once(englishConditions, englishDates, enThing)()
	var list []passing
	add := func(expr string) { list = append(list, passing{once(expr)(), depends}) }
	list = append(list, passing{once(`\b(?:stuck|held up|trapped|jammed) (?:in|by|at|on|behind|outside|inside|between|under) `)(), once(englishConditions, englishDates, `\bstuck (?:in|at|on) (?:\S+ ){0,3}?(?:rut|past|level|jobs?|chapter|grade|ways|plateau|marriage|problem|exercise|bug|draft|question|step|relationship|project)\b`, enThing)()})
	list = append(list, passing{once(`\b(?:has|have) no (?:signal|reception|battery|cash|change on)\b`)(), person})
	add(`\b(?:car|bike|bicycle|van|scooter|motorbike|taxi|train|bus|tram|lift|elevator|laptop|computer|server|site|website|wi-?fi|internet|network|power|heating|electricity|connection|app|line)(?: \w+)? (?:has |have |is |just |was )*(?:broke(?:n)? down|down` + enEnd + `|went (?:out|down|dead)|out` + enEnd + `|crash(?:ed|ing)|frozen|froze|won't start|doesn't start|stalled|cut out|back up)`)
	add(`\b(?:has|have|had|got|with) a (?:flat(?: tyre| tire)?|puncture|nosebleed|hiccups|stitch|blister|power cut|blackout)` + enEnd + `|\b(?:has|have) (?:the )?hiccups\b|\bran out of (?:petrol|gas|fuel|battery|milk|bread|change|data)\b`)
	add(`\b(?:forgot|left|misplaced|lost|can't find|cannot find|couldn't find) (?:his|her|their|the) (?:\w+ )?` + enObject + `(?:` + enEnd + `| (?:in|on|at) (?:the|a|his|her|their)\b)|\block(?:ed|ing) (?:himself|herself|themselves) out\b|\b(?:can't|cannot|couldn't) (?:sleep` + enEnd + `|find (?:a |any |the )?(?:parking|taxi|cab|seat|table|entrance|exit)|get (?:a taxi|a cab|in|out|through|up|online))`)
	add(`\b(?:spilled|spilt|dropped|burned|burnt|stubbed|hit|cut|bumped|scraped|twisted|sprained) (?:(?:his|her|their|the|a|some|hot) )*(?:coffee|tea|wine|juice|soup|water|toast|rice|dinner|cake|tongue|toe|finger|knee|head|elbow|ankle|phone|glass|plate|thumb)\b|\bgot (?:soaked|lost|caught in|wet|off at the wrong|on the wrong)|\btook the wrong (?:bus|train|exit|turn|line)\b`)
	add(`\b(?:feels?|feeling|` + enIs + `) (?:lost|drunk|tipsy|stressed(?: out)?|grumpy|cranky|annoyed|upset|furious|nervous|excited|sad|lonely|soaked|soaking wet|cold|hot|full|stuffed|shaky|light-?headed|groggy|ill|wide awake|half asleep|in pain|out and about|down with (?:a|the) \w+)` + enEnd)
	add(`\bjust (?:stepped|walked|ran|called (?:a|the|her|him|his|back|in)|texted|messaged|ordered|ate|drank|showered|dropped|spilled|fell|tripped|sneezed|hung up|logged|paid|reached|checked (?:in|out)|came (?:home|in|back|downstairs)|got (?:back|to|on|dressed|a (?:call|text|message))|had (?:a (?:shower|nap|call|coffee|drink|bath)|` + enMeal + `)|took (?:a|the|off)|finished (?:eating|cooking|cleaning|the|a (?:call|meeting|run|shift))|left (?:the|for the) (?:airport|gym|shop|store|meeting|bar|restaurant|supermarket|hospital|school|hotel))`)
	add(`\b(?:back|head|knee|foot|feet|tooth|teeth|throat|stomach|tummy|ear|eye|neck|shoulder|leg|arm|hand|wrist|ankle|finger)s? (?:really |still )?(?:hurts?|aches?|(?:is|are) (?:sore|aching|swollen|bleeding|itchy|itching|acting up|killing \w+))\b|\b(?:has|have) (?:jet ?lag|goosebumps|water in|something in|a (?:stomach bug|sunburn|cramp|bruise))|\b(?:alarm|car|engine|printer|app|projector|mic|microphone) (?:did(?:n't| not)|won't|would(?:n't| not)) (?:go off|start|print|open|load|ring|work)|\bkeeps (?:dropping|freezing|crashing|buffering|cutting out|disconnecting|lagging)\b|\b` + enNum + ` ?(?:%|percent|per cent) (?:battery|left)\b|\bphone is (?:off|on silent|muted|charging|in (?:the|his|her))`)
	add(`\b(?:it is|it's|it was) (?:still |now |already |really |so |too |very |pretty )*(?:hot|cold|dark|slippery|drizzling|thundering|humid|muggy)` + enEnd + `|\bthe (?:rain|snow|storm|sun) (?:has |is |just |finally )*(?:stopped|stopping|started|starting|came out|out)\b|\btraffic (?:is|was) (?:\w+ )?(?:bad|heavy|terrible|awful|slow|horrible|a nightmare|at a standstill)` + enEnd + `|\b(?:road|street|motorway|bridge|highway) is (?:blocked|closed|jammed)` + enEnd)
	add(`\b(?:train|bus|tram|flight|plane|ferry|metro|subway|taxi|delivery|parcel|courier|pizza|food|order)\b[^,]* (?:delayed|late|delay of|` + enSpell + ` delay|on (?:its|the) way)` + `\b`)
	return list
}
