#!/bin/sh
# Writes the secrets that docker-compose.yml reads into deploy/secrets; what is there already stays.
# Those that others give you are files to fill in, and count as not set while they are empty.
set -eu
cd "$(dirname "$0")"
mkdir -p -m 700 secrets
cd secrets

write() { # name: a password, unless there is one
	[ -s "$1" ] || head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$1"
}

for name in postgres_password owner_password database_password broker_password s3_secret_key metrics_token; do write "$name"; done
touch login_providers smtp_password objects.json valkey.conf
# the folder is closed to others; in their containers the users of the services must be able to read the files
chmod 644 ./*
cat > objects.json <<JSON
{"identities": [{
  "name": "heldout",
  "credentials": [{"accessKey": "heldout", "secretKey": "$(cat s3_secret_key)"}],
  "actions": ["Read:heldout", "Write:heldout", "List:heldout", "Tagging:heldout"]
}]}
JSON
printf 'requirepass %s\n' "$(cat broker_password)" > valkey.conf
