#!/bin/sh
# Run by the image of PostgreSQL on a new database: the owner of the tables and the application's role.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
	--set owner="$(cat /run/secrets/owner_password)" --set application="$(cat /run/secrets/database_password)" <<'SQL'
CREATE ROLE heldout_owner LOGIN PASSWORD :'owner';
CREATE ROLE heldout LOGIN PASSWORD :'application';
CREATE DATABASE heldout OWNER heldout_owner;
SQL
