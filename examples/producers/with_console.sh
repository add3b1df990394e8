#!/bin/sh
# Publishes with Kafka's own console producer: each line of standard input is an owner, a tab and a
# candidate as JSON. The producer is a command of a Kafka distribution. If it is not on the path, set
# KAFKA_CONSOLE_PRODUCER to the command.
#
#   printf 'ada\t{"owner_id": "ada", "text": "Ada has a big dog."}\n' |
#       sh examples/producers/with_console.sh 127.0.0.1:9092 [TOPIC]

producer=${KAFKA_CONSOLE_PRODUCER:-kafka-console-producer.sh}
if ! command -v "${producer%% *}" >/dev/null; then
    echo "there is no ${producer%% *}: it comes with a Kafka distribution (its folder bin/);" \
        "set KAFKA_CONSOLE_PRODUCER to its path" >&2
    exit 127
fi
# Unquoted, because the command may have several words.
# shellcheck disable=SC2086
exec $producer \
    --bootstrap-server "${1:-127.0.0.1:9092}" --topic "${2:-memory.candidates}" \
    --reader-property parse.key=true
