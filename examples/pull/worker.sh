#!/bin/sh
# Pulls one task with curl, does it and completes it.
set -eu

post() {
  curl --silent --show-error --fail -X POST "$GLEANER_URL/api/v1/claims$1" \
    -H "Authorization: Bearer $GLEANER_TOKEN" -H 'Content-Type: application/json' -d "$2"
}
field() { printf %s "$item" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

item=$(post '' '{"queues":["text"],"worker":"shell","wait":"20s","lease":"1m"}')
id=$(field id)
if [ -z "$id" ]; then
  echo 'nothing to do'
  exit 0
fi
fence=$(field fence)
post "/$id/progress" "{\"fence\":$fence,\"fraction\":0.5}" > /dev/null
words=$(field text | wc -w)
post "/$id/complete" "{\"fence\":$fence,\"result\":$((words))}"
echo "task $id: $((words)) words"
