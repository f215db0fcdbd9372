#!/usr/bin/env bash
# Plays the long sample chat of the tests: imports a chat of five weeks and evolves it night by night, then
# reads the memories back, asks who is who, goes through a dialogue with a bot (what is
# extracted from it, what the bot is given for its next turn, and what its answer
# teaches), and looks back on all of it in a dream. It needs no key and no network:
# the model's answers are recorded. A second run finds nothing left to extract, evolve
# or dream of and says so.
#
# REVERIE   the binary (default ./bin/reverie)
# DEMO_LLM  another provider than the recording, such as gemini with its key
# NO_COLOR  set to anything for plain output
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

reverie=${REVERIE:-./bin/reverie}
chat=test/halfframe/chat.jsonl
dialogue=test/halfframe/dialogue.jsonl
group=demo
llm=${DEMO_LLM:-recorded}
export REVERIE_LLM_RECORDED=test/halfframe/answers.jsonl

if [ ! -x "$reverie" ]; then
  echo "demo: $reverie is not there: build it first (make build), or set REVERIE" >&2
  exit 2
fi

bold='' dim='' off=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' dim=$'\033[2m' off=$'\033[0m'
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

if [ "$llm" = recorded ]; then
  echo "The answers of the model are recorded ($REVERIE_LLM_RECORDED); all else is worked out now."
fi

title "1. Import five weeks of chat, and a dialogue with the group's bot"
show import "$chat" --group "$group" --name "半格 Half Frame" --time-zone Asia/Shanghai
show import "$dialogue" --group "$group"

title "2. Evolve it, night by night"
echo "+ new, ~ reworded, - gone, = kept with fresh support; under each the words that it rests on."
# The dates of the chat. A night is its date alone, as evolve --due would take it: the
# answers are recorded for that.
next_day() { date -d "$1 + 1 day" +%F 2>/dev/null || date -j -v+1d -f %F "$1" +%F; }
worked=0
while read -r since; do
  night=$("$reverie" --llm "$llm" evolve --group "$group" --since "$since" --until "$(next_day "$since")")
  case $night in
    *"no new messages") ;; # an earlier run has them already
    *) printf '%s%s%s  %s\n' "$bold" "$since" "$off" "$night"; worked=$((worked + 1)) ;;
  esac
done < <(sed -n 's/.*"sent_at": *"\([0-9-]*\)T.*/\1/p' "$chat" "$dialogue" | sort -u)
if [ "$worked" -eq 0 ]; then
  echo "Every message was consumed by an earlier run: nothing to do, nothing changed."
fi

title "3. What the group remembers"
show memory list --group "$group" --kind group

title "4. Ask it"
for question in "暗房钥匙在哪" "peanut snacks at meetups" "周会"; do
  show --llm offline memory search --group "$group" --limit 2 "$question"
done

title "5. Why it remembers that"
# The list names the versions: MEMORY v2 ...; the one with most of them has a story.
show memory why "$("$reverie" memory list --group "$group" --kind group | sort -t "$(printf '\t')" -k7,7 | tail -n 1 | cut -f 2)"

title "6. Who is who"
echo "From now on evolve follows people and things too; what it has read already is made up for."
show groups set "$group" --impressions on
show --llm "$llm" impression --group "$group"
show entity list --group "$group"
show entity show --group "$group" Tomas

title "7. Sessions: the dialogue with the bot"
echo "Evolve has read it with the rest of its night. For the bot, each session is read by itself, as soon as there is enough of it."
show sessions list --group "$group" --waiting --limit 3
show --llm "$llm" extract --session trip --group "$group"

title "8. What the bot is given before its next turn, and what its answer teaches"
show --llm offline context --group "$group" --session trip --query "What should I know about food for Maya?" --max-tokens 400
show --llm offline feedback --group "$group" --session trip --response "Maya is allergic to peanuts, so no satay for her."

title "9. Looking back: a dream"
echo "The other sessions are read as well; then what they and the nights have left is condensed."
show --llm "$llm" extract --all --group "$group" | sed -n '1p;$p'
show --llm "$llm" dream --group "$group" | sed -n '1,3p'
show dream show --group "$group"
