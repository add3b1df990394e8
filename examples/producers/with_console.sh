#!/bin/sh
# Publishes by Kafka's own console producer: each line of standard input is an owner, a tab and a
# candidate as JSON. KAFKA_CONSOLE_PRODUCER names the command where it is not on the path.
#
#   printf 'ada\t{"owner_id": "ada", "text": "Ada has a big dog."}\n' |
#       sh examples/producers/with_console.sh 127.0.0.1:9092 [TOPIC]

# The command may be of several words.
# shellcheck disable=SC2086
exec ${KAFKA_CONSOLE_PRODUCER:-kafka-console-producer.sh} \
    --bootstrap-server "${1:-127.0.0.1:9092}" --topic "${2:-memory.candidates}" \
    --reader-property parse.key=true
