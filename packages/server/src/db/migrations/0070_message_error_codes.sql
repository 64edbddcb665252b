-- Why the turn of a message ended without an answer, for programs. Expand: a server of the version before writes only the
-- text.
alter table session_messages add column error_code text;
