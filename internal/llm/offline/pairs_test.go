package offline

// What scores are measured on: statements as memories put them.

// restated holds pairs that say the same fact with little changed wording: what
// a score of 0.7 and more is to mean.
var restated = [][2]string{
	{"The group plays badminton every Thursday evening at the riverside gym", "Every Thursday evening the group plays badminton at the riverside gym"},
	{"The weekly meeting is on Tuesday at 9 pm in the voice channel", "The weekly meeting takes place on Tuesday at 9 pm, in the voice channel"},
	{"Maya lives in Lisbon and works as a translator", "Maya lives in Lisbon, working as a translator"},
	{"Tomas is allergic to peanuts, so no peanut snacks at meetups", "No peanut snacks at meetups because Tomas is allergic to peanuts"},
	{"Spoilers go behind a spoiler tag until Sunday night", "Spoilers must go behind a spoiler tag until Sunday night"},
	{"The zine deadline is February 20 with at most 12 photos", "The deadline of the zine is February 20, 12 photos at most"},
	{"Most members prefer Go over Java for new tools", "Most of the members prefer Go to Java for new tools"},
	{"Releases are cut on the first Monday of the month", "A release is cut on the first Monday of every month"},
	{"Two people must review each pull request before merging", "Each pull request must be reviewed by two people before merging"},
	{"Lin books the court and brings the shuttlecocks", "Lin is the one who books the court and brings shuttlecocks"},
	{"The light meter core moved from C to Rust", "The core of the light meter moved from C to Rust"},
	{"Penguin time means two in the morning", "In this group, penguin time means two in the morning"},
	{"每周四晚上七点半在滨江体育馆打羽毛球", "每周四晚上七点半，大家在滨江体育馆打羽毛球"},
	{"周会改到周二晚上九点，在语音频道开", "周会已改到周二晚上九点，语音频道开"},
	{"合并代码之前必须有一个人 review", "合并代码前必须有一个人review"},
	{"外拍胶卷统一用乐凯C200", "外拍的胶卷统一使用乐凯 C200"},
	{"暗房钥匙放在前台，找小周登记", "暗房的钥匙放在前台，需找小周登记"},
	{"小满对花生过敏，聚会不要带花生零食", "聚会别带花生零食，小满对花生过敏"},
	{"每天早上在群里发早餐照片打卡", "群里每天早上发早餐照片打卡"},
	{"老K 负责订羽毛球场地", "羽毛球场地由老K负责订"},
	{"半格的投稿截止日期是二月二十日", "半格投稿的截止日期为二月二十日"},
	{"大家都觉得新版图标像煎蛋", "大家觉得新版的图标像个煎蛋"},
	{"剧透必须打标签，直到周日晚上", "周日晚上之前剧透必须打标签"},
	{"春节期间周会停两次", "周会在春节期间停两次"},
}

// related holds pairs about one subject that do not say the same.
var related = [][2]string{
	{"The group plays badminton every Thursday evening at the riverside gym", "Lin bought a new badminton racket"},
	{"The weekly meeting is on Tuesday at 9 pm in the voice channel", "Notes of the weekly meeting are kept in the wiki"},
	{"Tomas is allergic to peanuts, so no peanut snacks at meetups", "Meetups take place at the lake in summer"},
	{"The zine deadline is February 20 with at most 12 photos", "The zine is printed at Riso Corner in 200 copies"},
	{"Two people must review each pull request before merging", "Maya reviews pull requests at night"},
	{"每周四晚上七点半在滨江体育馆打羽毛球", "豆豆买了新的羽毛球拍"},
	{"周会改到周二晚上九点，在语音频道开", "周会纪要由小满整理"},
	{"外拍胶卷统一用乐凯C200", "外拍一般去湖边"},
	{"暗房钥匙放在前台，找小周登记", "暗房的放大机坏了"},
	{"半格的投稿截止日期是二月二十日", "半格每期印两百本"},
}

// queries are what people type, and words of the statements that answer them.
var queries = []struct{ query, words string }{
	{"weekly meeting", "weekly meeting"},
	{"badminton", "badminton"},
	{"who is allergic to peanuts?", "allergic to peanuts"},
	{"zine deadline", "zine deadline"},
	{"where does Maya live", "Maya lives"},
	{"spoilers", "Spoilers"},
	{"code review", "must review"},
	{"周会", "周会"},
	{"羽毛球", "羽毛球"},
	{"钥匙在哪", "暗房钥匙"},
	{"外拍用什么胶卷", "胶卷"},
	{"谁对花生过敏", "花生过敏"},
	{"什么时候截稿 截止日期", "截止日期"},
	{"早餐打卡", "早餐照片打卡"},
}
