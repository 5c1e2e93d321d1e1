-- What an agent's page tokens are sealed with, made at its first start.
CREATE TABLE page_secrets (
    agent INTEGER PRIMARY KEY,
    secret BLOB NOT NULL
) STRICT;
