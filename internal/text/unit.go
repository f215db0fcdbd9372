package text

import (
	"strings"
	"unicode/utf8"
)

// units are the words for what a number counts, each under one name.
var units = unitNames(
	"km kilometer kilometers kilometre kilometres 公里 千米", "mile miles mi 英里", "m meter meters metre metres 米",
	"里", "cm 厘米",
	"kg kilo kilos kilogram kilograms 公斤 千克", "pound pounds lb lbs 磅", "g gram grams 克", "斤", "吨 ton tons",
	"yuan rmb 元 块 ¥", "dollar dollars usd $ 美元", "euro euros eur € 欧元", "gbp £ 英镑",
	"second seconds 秒", "minute minutes min mins 分钟", "hour hours h 小时", "day days 天", "week weeks 周 星期",
	"month months 月", "year years 年",
)

func unitNames(lines ...string) map[string]string {
	names := map[string]string{}
	for _, line := range lines {
		like := strings.Fields(line)
		for _, name := range like {
			names[name] = like[0]
		}
	}
	return names
}

// unitOf names the unit of a number by the text around it, "" where none is known.
func unitOf(before, after string) string {
	if sign, _ := utf8.DecodeLastRuneInString(before); strings.ContainsRune("$€£¥", sign) {
		return units[string(sign)]
	}
	after = strings.TrimPrefix(strings.TrimLeft(after, " -"), "个")
	word := after[:len(after)-len(strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz"))]
	if word != "" {
		return units[word]
	}
	runes := []rune(after[:min(len(after), 3*utf8.UTFMax)])
	for n := min(2, len(runes)); n > 0; n-- {
		if unit := units[string(runes[:n])]; unit != "" {
			return unit
		}
	}
	return ""
}
