#!/usr/bin/env bash
# The demo: imports a sample chat of five weeks and evolves it night by night
# with the offline baseline (no key, no network), then reads the memories back.
# A second run finds nothing left to do and says so.
#
# REVERIE   the binary (default ./bin/reverie)
# NO_COLOR  set to anything for plain output
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

reverie=${REVERIE:-./bin/reverie}
chat=demo/chat.jsonl
group=demo

if [ ! -x "$reverie" ]; then
  echo "demo: $reverie is not there: build it first (make build), or set REVERIE" >&2
  exit 2
fi

bold='' dim='' green='' yellow='' red='' off=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' dim=$'\033[2m' green=$'\033[32m' yellow=$'\033[33m' red=$'\033[31m' off=$'\033[0m'
fi
title() { printf '\n%s%s%s\n' "$bold" "$1" "$off"; }

# show prints a command as one would type it, then runs it.
show() {
  local word line='$ ./bin/reverie'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9_.=/:+-]*) line="$line \"$word\"" ;; *) line="$line $word" ;; esac
  done
  printf '%s%s%s\n' "$dim" "$line" "$off"
  "$reverie" "$@"
}

# next_date prints the day after a YYYY-MM-DD (date(1) differs between systems).
next_date() {
  awk -v d="$1" 'BEGIN {
    split(d, p, "-"); y = p[1] + 0; m = p[2] + 0; n = p[3] + 1
    split("31 28 31 30 31 30 31 31 30 31 30 31", len, " ")
    if (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)) len[2] = 29
    if (n > len[m]) { n = 1; m++ }
    if (m > 12) { m = 1; y++ }
    printf "%04d-%02d-%02d", y, m, n
  }'
}

# night reads the reply of evolve --json and prints what the night did.
night() {
  awk -v date="$1" -v dim="$dim" -v green="$green" -v yellow="$yellow" -v red="$red" -v off="$off" '
    # text returns the string under a key, as it was before it became JSON.
    function text(json, key,   found, s) {
      if (!match(json, "\"" key "\": *\"([^\"\\\\]|\\\\.)*\"")) return ""
      s = substr(json, RSTART, RLENGTH)
      sub("^\"" key "\": *\"", "", s); sub(/"$/, "", s)
      gsub(/\\"/, "\"", s); gsub(/\\\\/, "\\", s)
      return s
    }
    function number(json, key,   s) {
      if (!match(json, "\"" key "\": *[0-9]+")) return 0
      s = substr(json, RSTART, RLENGTH); sub(/^.*: */, "", s)
      return s + 0
    }
    function quoted(json,   q) {
      q = text(json, "quote")
      if (q != "") printf "      %s%s: %s%s\n", dim, text(json, "author"), q, off
    }
    { all = all " " $0 }
    END {
      at = index(all, "\"changes\":")
      head = substr(all, 1, at); n = split(substr(all, at), change, "\"action\": *")
      printf "%s  kept %d, created %d, updated %d, deleted %d", date, number(head, "kept"), number(head, "created"), number(head, "updated"), number(head, "deleted")
      if (number(head, "held")) printf ", %sheld %d%s", yellow, number(head, "held"), off
      if (number(head, "refused")) printf ", refused %d", number(head, "refused")
      printf "  %s(%d messages, %d cited)%s\n", dim, number(head, "cited") + number(head, "considered") + number(head, "filtered"), number(head, "cited"), off
      for (i = 2; i <= n; i++) {
        c = change[i]
        if (c ~ /^"create"/) { printf "    %s+ %s%s\n", green, text(c, "statement"), off; quoted(c) }
        if (c ~ /^"update"/) { printf "    %s- %s%s\n    %s+ %s%s\n", red, text(c, "old_statement"), off, green, text(c, "new_statement"), off; quoted(c) }
        if (c ~ /^"delete"/) { printf "    %s- %s  (%s)%s\n", red, text(c, "old_statement"), text(c, "change_reason"), off; quoted(c) }
      }
    }'
}

title "1. Import five weeks of chat"
show import "$chat" --group "$group" --name "半格 Half Frame" --time-zone Asia/Shanghai

title "2. Evolve it, night by night"
first=$(sed -n '1s/.*"sent_at": *"\([0-9-]*\)T.*/\1/p' "$chat")
last=$(sed -n '$s/.*"sent_at": *"\([0-9-]*\)T.*/\1/p' "$chat")
printf '%s$ ./bin/reverie --llm offline evolve --group %s --since %s --until %s   (and so on to %s)%s\n' \
  "$dim" "$group" "$first" "$(next_date "$first")" "$last" "$off"
echo "+ new, - gone, - then + reworded; under each the words that it rests on. Cited messages also support what is kept."
worked=0
day=$first
while :; do
  until=$(next_date "$day")
  status=0
  reply=$("$reverie" --llm offline evolve --group "$group" --since "$day" --until "$until" --json) || status=$?
  if [ "$status" -ne 0 ]; then
    printf '%s\ndemo: evolving %s ended with exit code %s\n' "$reply" "$day" "$status" >&2
    exit "$status"
  fi
  case $reply in
    *'"no new messages"'*) ;; # nobody wrote, or an earlier run has it already
    *) night "$day" <<<"$reply"; worked=$((worked + 1)) ;;
  esac
  [ "$day" != "$last" ] || break
  day=$until
done
if [ "$worked" -eq 0 ]; then
  echo "Every message was consumed by an earlier run: nothing to do, nothing changed."
fi

title "3. What the group remembers"
show memory list --group "$group"

title "4. Ask it"
for question in "暗房钥匙在哪" "peanut snacks at meetups" "周会"; do
  show --llm offline memory search --group "$group" --threshold 0.2 --limit 2 "$question"
done

title "5. How one memory came to be"
updated=$("$reverie" memory list --group "$group" --json | awk '
  { all = all " " $0 }
  END {
    n = split(all, m, "\"memory_id\": *\"")
    for (i = 2; i <= n; i++) if (match(m[i], /"version": *[0-9]+/)) {
      v = substr(m[i], RSTART, RLENGTH); sub(/^.*: */, "", v)
      if (v + 0 > best + 0) { best = v; id = m[i]; sub(/".*/, "", id) }
    }
    print id
  }')
[ -z "$updated" ] || show memory history "$updated"

title "Go on from here"
cat <<EOT
  ./bin/reverie --llm offline memory search --group $group "submission deadline"
  ./bin/reverie memory changes --group $group --days 400
  ./bin/reverie runs list --group $group
  make demo                       again: nothing is done twice
The offline baseline only compares words. For memories that understand, set
REVERIE_LLM_PROVIDER and REVERIE_LLM_API_KEY, and leave out --llm offline.
EOT
